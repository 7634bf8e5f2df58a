//! Agent CLIs over the Agent Client Protocol.

use super::{McpNames, QuestionCase, ReportedReset, ReportedUsage, RolePlace, SuiteDriver, gemini, opencode};

const WAITS_ITSELF: ReportedReset = ReportedReset::Hidden(
    "the CLI itself waits and tells the client nothing, so Windlass cannot show the wait",
);
const NO_QUESTIONS: &str = "over the protocol, the CLI does not offer its question tool to the model";

pub(super) const OPENCODE: SuiteDriver = SuiteDriver {
    title: "acp: opencode",
    name: "acp",
    words: "acp",
    role: RolePlace::Prompt,
    reset: WAITS_ITSELF,
    usage: ReportedUsage::Partial,
    mcp: McpNames::Unasked(
        "over the protocol, the CLI does not ask before it calls a tool of an MCP server, so no rule applies",
    ),
    question: QuestionCase::NotOffered { tool: "question", why: NO_QUESTIONS },
    ..opencode::OPENCODE
};

pub(super) const GEMINI: SuiteDriver = SuiteDriver {
    title: "acp: gemini",
    name: "acp",
    words: "--acp",
    reset: ReportedReset::Unknown(
        "over the protocol, the CLI does not report when a limit resets, so the run tries again",
    ),
    usage: ReportedUsage::Partial,
    untold_rule: Some(
        "the protocol has no place for a reason, so the model only learns that the tool was refused",
    ),
    no_resume: Some(
        "the CLI offers to load a conversation and does not find its own, so the run fails and says so",
    ),
    question: QuestionCase::NotOffered { tool: "ask_user", why: NO_QUESTIONS },
    ..gemini::GEMINI
};
