//! The syntax that a provider's format allows in an entity's text.
//!
//! [`template`](super::template) reads the text.

use crate::entity::{Entity, EntityKind, Provider};

/// The syntax of one entity's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntitySyntax {
    pub(super) slots: ArgumentSlots,
    pub(super) shell: ShellSyntax,
    pub(super) files: Files,
    /// True if the last numbered slot takes all remaining words.
    pub(super) last_takes_rest: bool,
    /// True if `${CLAUDE_PLUGIN_ROOT}` has a meaning.
    pub(super) has_root: bool,
}

/// The notation for argument slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentSlots {
    None,
    /// `{{args}}`.
    Braces,
    /// `$ARGUMENTS` and `$1`, the first word being `$1`.
    FromOne,
    /// `$ARGUMENTS`, `$0` and `$ARGUMENTS[0]`, the first word being `$0`.
    FromZero,
}

/// The notation for a shell command that its output replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShellSyntax {
    None,
    /// ``!`command` ``, where a word could start.
    Backticks,
    /// ``!`command` ``, anywhere.
    BackticksAnywhere,
    /// `!{command}`.
    Braces,
}

/// The notation for a file that its content replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    None,
    /// `@path`.
    Bare,
    /// `@{path}`.
    Braces,
}

impl EntitySyntax {
    pub(super) fn of(entity: &Entity) -> EntitySyntax {
        let has_root = entity.source.plugin.is_some();
        if entity.kind == EntityKind::Agent {
            // An agent's text is a system prompt. The arguments are the user's message, so `$1` is plain
            // text here.
            let (slots, shell, files) = (ArgumentSlots::None, ShellSyntax::None, Files::None);
            return EntitySyntax { slots, shell, files, last_takes_rest: false, has_root };
        }
        let (slots, shell, files) = match entity.source.provider {
            Provider::Claude => (ArgumentSlots::FromZero, ShellSyntax::Backticks, Files::Bare),
            Provider::Windlass => (ArgumentSlots::FromOne, ShellSyntax::Backticks, Files::Bare),
            Provider::Opencode => (ArgumentSlots::FromOne, ShellSyntax::BackticksAnywhere, Files::Bare),
            Provider::Atomic | Provider::Copilot => (ArgumentSlots::FromOne, ShellSyntax::None, Files::Bare),
            Provider::Codex | Provider::Shared => (ArgumentSlots::FromOne, ShellSyntax::None, Files::None),
            Provider::Gemini => (ArgumentSlots::Braces, ShellSyntax::Braces, Files::Braces),
        };
        EntitySyntax {
            slots,
            shell,
            files,
            last_takes_rest: entity.source.provider == Provider::Opencode,
            has_root,
        }
    }

    /// Returns the syntax inside a command or a path, where only argument slots count.
    pub(super) fn within(self) -> EntitySyntax {
        EntitySyntax { shell: ShellSyntax::None, files: Files::None, ..self }
    }
}
