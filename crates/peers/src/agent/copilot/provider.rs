//! The key of a model provider of the user's own.
//!
//! The CLI blanks out the value of the key everywhere in its output. A placeholder such as `ollama`, which a local
//! provider accepts, then blanks out that word in the agent's text and even in the names of the output's
//! fields. Such a key goes into a header instead, which the CLI leaves alone.

/// A key is at least this long. Anything shorter is a placeholder.
const SHORTEST_KEY: usize = 12;

const KEY: &str = "COPILOT_PROVIDER_API_KEY";
const TOKEN: &str = "COPILOT_PROVIDER_BEARER_TOKEN";
const COMMAND: &str = "COPILOT_PROVIDER_API_KEY_COMMAND";
const HEADERS: &str = "COPILOT_PROVIDER_HEADERS";
const TYPE: &str = "COPILOT_PROVIDER_TYPE";

/// Moves a placeholder from its variable into the headers.
pub(super) fn unblank(env: &mut Vec<(String, String)>) {
    let value = |name: &str| {
        let found = env.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        found.filter(|value| !value.is_empty())
    };
    if value(COMMAND).is_some() {
        return;
    }
    let (variable, key) = match (value(TOKEN), value(KEY)) {
        (Some(token), _) => (TOKEN, token),
        (None, Some(key)) => (KEY, key),
        (None, None) => return,
    };
    if key.len() >= SHORTEST_KEY || key.chars().any(char::is_control) {
        return;
    }
    let header = match (variable, value(TYPE).as_deref()) {
        (KEY, Some("azure")) => format!("api-key: {key}"),
        (KEY, Some("anthropic")) => format!("x-api-key: {key}"),
        _ => format!("Authorization: Bearer {key}"),
    };
    let headers = value(HEADERS).map_or(header.clone(), |others| format!("{header}\n{others}"));
    env.retain(|(name, _)| ![KEY, TOKEN, HEADERS].contains(&name.as_str()));
    env.push((HEADERS.to_owned(), headers));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unblanked(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut env = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        unblank(&mut env);
        env
    }

    fn env(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn a_placeholder_becomes_the_header_of_its_provider() {
        assert_eq!(unblanked(&[(KEY, "ollama")]), [env(HEADERS, "Authorization: Bearer ollama")]);
        let azure = unblanked(&[(TYPE, "azure"), (KEY, "x"), (HEADERS, "A: b")]);
        assert_eq!(azure, [env(TYPE, "azure"), env(HEADERS, "api-key: x\nA: b")]);
        let token = unblanked(&[(TYPE, "anthropic"), (TOKEN, "t"), (KEY, "sk-ant-0123456789")]);
        assert_eq!(token, [env(TYPE, "anthropic"), env(HEADERS, "Authorization: Bearer t")]);
    }

    #[test]
    fn a_key_stays_where_the_cli_hides_it() {
        for given in [
            vec![(KEY, "sk-0123456789abcdef")],
            vec![(KEY, "")],
            vec![(KEY, "a\nB: c")],
            vec![(KEY, "short"), (COMMAND, "print-key")],
            vec![(TOKEN, "0123456789abcdef"), (KEY, "short")],
        ] {
            let expected: Vec<_> = given.iter().map(|(name, value)| env(name, value)).collect();
            assert_eq!(unblanked(&given), expected);
        }
    }
}
