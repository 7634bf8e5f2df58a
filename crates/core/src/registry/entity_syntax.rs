//! What a provider's format understands besides plain text.
//!
//! Reading it is [`template`](super::template)'s.

use crate::entity::{Entity, EntityKind, Provider};

/// What the text of an entity may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntitySyntax {
    pub(super) slots: ArgumentSlots,
    pub(super) shell: ShellSyntax,
    pub(super) files: Files,
    /// Whether the last numbered word takes all that remain.
    pub(super) last_takes_rest: bool,
    /// Whether `${CLAUDE_PLUGIN_ROOT}` means something.
    pub(super) has_root: bool,
}

/// How the places of arguments are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentSlots {
    /// There are none.
    None,
    /// `{{args}}`.
    Braces,
    /// `$ARGUMENTS` and `$1`, the first word being `$1`.
    FromOne,
    /// `$ARGUMENTS`, `$0` and `$ARGUMENTS[0]`, the first word being `$0`.
    FromZero,
}

/// How a shell command is written whose output is to stand there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShellSyntax {
    /// There is no way.
    None,
    /// ``!`command` ``, where a word could begin.
    Backticks,
    /// ``!`command` ``, anywhere.
    BackticksAnywhere,
    /// `!{command}`.
    Braces,
}

/// How a file is mentioned whose content is to stand there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    /// There is no way.
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
            // A system prompt: the arguments are the user's message, and it may speak of `$1`.
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

    /// The same within a command or a path, where only arguments are looked for.
    pub(super) fn within(self) -> EntitySyntax {
        EntitySyntax { shell: ShellSyntax::None, files: Files::None, ..self }
    }
}
