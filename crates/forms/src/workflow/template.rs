//! Inserts the user's input into a workflow's prompt.

/// The placeholder for the input.
pub(super) const PLACEHOLDER: &str = "{input}";

/// Replaces every `{input}` in the template. Without one, appends the input after a blank line.
///
/// Replaces in a single pass, so an `{input}` inside the input itself stays as typed.
pub fn apply_template(template: &str, input: &str) -> String {
    if template.contains(PLACEHOLDER) {
        return template.replace(PLACEHOLDER, input);
    }
    let template = template.trim_end_matches(['\n', '\r']);
    if template.is_empty() || input.is_empty() {
        return format!("{template}{input}");
    }
    format!("{template}\n\n{input}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_replaced() {
        assert_eq!(
            apply_template("Use /add-e2e-tests {input}", "login flow"),
            "Use /add-e2e-tests login flow"
        );
        assert_eq!(apply_template("{input} and {input}", "x"), "x and x");
    }

    #[test]
    fn the_input_is_never_expanded_again() {
        for input in ["{input}", "a {input} b", "$ARGUMENTS", "{{x}}", "$&", "-q \"'`\n\\", "{sessionId}", ""]
        {
            assert_eq!(apply_template("do {input}!", input), format!("do {input}!"));
        }
    }

    #[test]
    fn without_a_placeholder_the_input_is_appended() {
        assert_eq!(apply_template("Write tests.", "login"), "Write tests.\n\nlogin");
        assert_eq!(apply_template("Write tests.\n", "login"), "Write tests.\n\nlogin");
        assert_eq!(apply_template("Write tests.", ""), "Write tests.");
        assert_eq!(apply_template("", "login"), "login");
    }
}
