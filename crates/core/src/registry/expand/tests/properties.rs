//! Properties of expansion for any text and any arguments.

use proptest::prelude::*;

use super::*;

fn any_entity() -> impl Strategy<Value = Entity> {
    let marks = r"(\$ARGUMENTS|\$[0-9]|\{\{args\}\}|!`|`|!\{|\}|@|\\|'|\x22|\$\{CLAUDE_PLUGIN_ROOT\}|[ -~\n]|\PC){0,24}";
    (prop::sample::select(&Provider::ALL[..]), prop::sample::select(&EntityKind::ALL[..]), marks)
        .prop_map(|(provider, kind, prompt)| entity(provider, kind, &prompt))
}

proptest! {
    #[test]
    fn any_text_takes_any_arguments(entity in any_entity(), args in any::<String>()) {
        let text = expand(&entity, &args).text();
        prop_assert!(entity.kind != EntityKind::Agent || text == entity.prompt);
    }

    #[test]
    fn what_has_no_marks_stays_byte_for_byte(prompt in r"[^$!@{\\]*") {
        for provider in Provider::ALL {
            prop_assert_eq!(command(provider, &prompt, ""), prompt.as_str());
        }
    }

    #[test]
    fn arguments_arrive_once_and_are_never_expanded(args in r"(\$ARGUMENTS|\$[0-9]|\{\{args\}\}|!`x`|@a/b|\PC| ){0,12}a") {
        for provider in Provider::ALL {
            let slot = if provider == Provider::Gemini { "{{args}}" } else { "$ARGUMENTS" };
            let pieces = pieces(provider, &format!("before <{slot}> after"), &args);
            prop_assert_eq!(pieces, [Piece::Text(format!("before <{args}> after"))]);
        }
    }

    #[test]
    fn the_shell_reads_back_the_words_that_were_given(word in "[^\0]+") {
        let quoted = word.replace('\'', r"'\''");
        let args = format!("'{quoted}'");
        for (template, expected) in [("$1", args.clone()), ("\"$1\"", format!("\"\"{args}\"\""))] {
            prop_assert_eq!(commands(Provider::Windlass, &format!("!`x {template}`"), &args), [format!("x {expected}")]);
            prop_assert_eq!(split(&expected), [word.as_str()]);
        }
    }
}
