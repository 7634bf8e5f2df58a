//! Enums whose variants are words, declared once for output, settings and the log.

/// Declares an enum with a word for each variant.
///
/// Serde reads and writes that word; `word` and `from_word` do the same elsewhere. `ALL` and
/// `WORDS` list the variants in the order of declaration. The macro derives the traits that every
/// such enum needs; a declaration can derive more.
#[macro_export]
macro_rules! words {
    (
        $(#[$about:meta])*
        $vis:vis enum $name:ident {
            $($(#[$variant_about:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize)]
        $vis enum $name {
            $($(#[$variant_about])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            $vis const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];

            /// Every word and its variant.
            $vis const WORDS: [(&'static str, $name); [$($word),+].len()] = [$(($word, $name::$variant)),+];

            /// Returns the word for output, settings and the log.
            $vis const fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            /// Returns the variant of a word.
            $vis fn from_word(word: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|known| known.word() == word)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    words! {
        /// The weather.
        #[derive(PartialOrd, Ord, Default)]
        enum Weather {
            #[default]
            Sunny = "sunny",
            /// Two words.
            HeavyRain = "heavy-rain",
        }
    }

    #[test]
    fn one_list_gives_the_word_to_output_settings_and_serde() {
        assert_eq!(Weather::ALL, [Weather::Sunny, Weather::HeavyRain]);
        assert_eq!(Weather::WORDS, Weather::ALL.map(|weather| (weather.word(), weather)));
        for (word, weather) in Weather::WORDS {
            assert_eq!(serde_json::to_value(weather).unwrap(), word);
            assert_eq!(serde_json::from_value::<Weather>(word.into()).unwrap(), weather);
            assert_eq!(Weather::from_word(word), Some(weather));
        }
        assert_eq!((Weather::from_word("HeavyRain"), Weather::default()), (None, Weather::Sunny));
    }
}
