//! The order of texts in a language: sort keys of the Unicode Collation Algorithm, tailored by CLDR.
//!
//! Keys compare as bytes as the texts do in the language: first by letters, then by accents, then by case. They are what
//! `COLLATE de` compares, sorts and groups by. The data is compiled in (crate `icu_collator`), for no file is read.

use super::columns::{TextColumn, per_distinct, write_bytes};
use crate::registry::{Function, Overloads};
use icu_collator::options::{CaseLevel, CollatorOptions, Strength};
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{self, Blob, Varchar};
use inlay_types::{Error, Result};

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "icu_sort_key",
        Overloads::Explained {
            shown: &["icu_sort_key(VARCHAR, locale) -> VARCHAR"],
            resolve: |args, options| resolve(args, options, Varchar),
        },
        "a text that sorts as the argument does in a language; the locale is a constant as de, sv or de_AT",
        "icu_sort_key('o', 'sv') < icu_sort_key('ö', 'sv')",
    ),
    Function::new(
        "collation_key",
        Overloads::Explained {
            shown: &["collation_key(VARCHAR, locale) -> BLOB"],
            resolve: |args, options| resolve(args, options, Blob),
        },
        "the bytes that COLLATE compares a text by in a language; the locale is a constant as de, sv or de_AT",
        "collation_key('ä', 'de') < collation_key('b', 'de')",
    ),
];

/// Names of locales that COLLATE knows, as DuckDB lists them. Regions of these languages are known as well.
pub static LOCALES: &[&str] = &[
    "aa", "af", "am", "ar", "ar_sa", "as", "az", "bal", "be", "bg", "blo", "bn", "bo", "br", "bs", "ca",
    "ceb", "chr", "cs", "cu", "cy", "da", "de", "de_at", "dsb", "dz", "ee", "el", "en", "en_us", "eo", "es",
    "et", "fa", "fa_af", "ff", "fi", "fil", "fo", "fr", "fr_ca", "fy", "ga", "gl", "gu", "ha", "haw", "he",
    "he_il", "hi", "hr", "hsb", "hu", "hy", "id", "id_id", "ig", "is", "it", "ja", "ka", "kk", "kl", "km",
    "kn", "ko", "kok", "ku", "ky", "lb", "lij", "lkt", "ln", "lo", "lt", "lv", "mk", "ml", "mn", "mr", "ms",
    "mt", "my", "nb", "nb_no", "ne", "nl", "nn", "no", "nso", "om", "or", "pa", "pa_in", "pl", "ps", "pt",
    "ro", "ru", "sa", "se", "sgs", "si", "sk", "sl", "smn", "sq", "sr", "sr_ba", "sr_me", "sr_rs", "ssy",
    "st", "sv", "sw", "ta", "te", "th", "tk", "tn", "to", "tr", "ug", "uk", "ur", "uz", "vi", "vo", "wae",
    "wo", "xh", "yi", "yo", "zh", "zh_cn", "zh_hk", "zh_mo", "zh_sg", "zh_tw", "zu",
];

/// The locale that a collation is named after: `de`, `de_AT`, `de-AT`, or a locale with options as
/// `de-u-co-phonebk`. `None` for other names.
pub fn locale_of(name: &str) -> Option<String> {
    let tag = name.to_lowercase().replace('_', "-");
    let language = tag.split('-').next()?;
    let is_known = LOCALES.iter().any(|known| known.split('_').next() == Some(language));
    // Without such a check every short word would be a locale.
    (is_known && tag.parse::<Locale>().is_ok()).then_some(tag)
}

/// What `collation_key` takes for a locale whose texts differ by letters and case, in the order that all languages share.
pub static NO_ACCENTS: &str = "und-x-noaccent";

fn collator(locale: &str) -> Result<CollatorBorrowed<'static>> {
    let tag = locale.replace('_', "-");
    let mut options = CollatorOptions::default();
    if tag == NO_ACCENTS {
        options.strength = Some(Strength::Primary);
        options.case_level = Some(CaseLevel::On);
    }
    let wrong = |reason: String| {
        Error::bind(format!("'{locale}' is no locale: {reason}")).with_hint("it looks like de or de_AT")
    };
    let locale: Locale = tag.parse().map_err(|error| wrong(format!("{error}")))?;
    CollatorBorrowed::try_new(CollatorPreferences::from(&locale), options)
        .map_err(|error| wrong(error.to_string()))
}

fn resolve(args: &[ArgType], _: &ResolveOptions, returns: LogicalType) -> Result<Option<Resolved>> {
    let [text, locale] = args else { return Ok(None) };
    if !matches!(text.ty, Varchar | LogicalType::Null) {
        return Ok(None);
    }
    let Some(locale) = &locale.text else {
        return Err(Error::bind("the locale of a sort key has to be a literal"));
    };
    let collator = collator(locale)?;
    let ty = returns.clone();
    let is_text = returns == Varchar;
    let kernel = kernel(move |args, len, out| {
        per_distinct(args, ty.clone(), len, out, |args, len, out| {
            let source = TextColumn::of(args[0]);
            let mut key: Vec<u8> = Vec::new();
            write_bytes(ty.clone(), args, len, out, |row, bytes| {
                key.clear();
                let Ok(()) = collator.write_sort_key_to(source.text(row), &mut key);
                if !is_text {
                    bytes.extend_from_slice(&key);
                    return Ok(());
                }
                for byte in &key {
                    bytes.extend([byte >> 4, byte & 15].map(|digit| b"0123456789ABCDEF"[usize::from(digit)]));
                }
                Ok(())
            })
        })
    });
    Ok(Some(Resolved::infallible(vec![Varchar, Varchar], returns, kernel)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(locale: &str, mut texts: Vec<&str>) -> String {
        let collator = collator(locale).unwrap();
        let key = |text: &&str| {
            let mut key: Vec<u8> = Vec::new();
            let Ok(()) = collator.write_sort_key_to(text, &mut key);
            key
        };
        texts.sort_by_key(key);
        texts.join(" ")
    }

    #[test]
    fn languages_have_orders_of_their_own() {
        assert_eq!(sorted("sv", vec!["ö", "z", "ä", "å", "a"]), "a z å ä ö");
        assert_eq!(sorted("de", vec!["z", "ä", "b", "a", "B"]), "a ä b B z");
        assert_eq!(sorted("de-u-co-phonebk", vec!["af", "ä", "ad"]), "ad ä af");
        assert_eq!(sorted("es", vec!["o", "ñ", "nz", "n"]), "n nz ñ o");
        assert_eq!(sorted("fr_CA", vec!["côté", "coté", "côte", "cote"]), "cote côte coté côté");
        assert_eq!(sorted("fr", vec!["côté", "coté", "côte", "cote"]), "cote coté côte côté");
    }

    #[test]
    fn accents_may_count_for_nothing() {
        let key = |text: &str| {
            let mut key: Vec<u8> = Vec::new();
            let Ok(()) = collator(NO_ACCENTS).unwrap().write_sort_key_to(text, &mut key);
            key
        };
        assert_eq!(key("ä"), key("a"));
        assert_eq!(key("æ"), key("ae"));
        assert_ne!(key("A"), key("a"));
        assert!(key("é") < key("f") && key("AE") < key("b"));
    }

    #[test]
    fn locales_are_told_from_other_names() {
        for name in ["de", "de_DE", "DE-at", "sv", "de-u-co-phonebk", "en_US"] {
            assert!(locale_of(name).is_some(), "{name}");
        }
        for name in ["nocase", "xx", "", "binary", "german", "d e"] {
            assert!(locale_of(name).is_none(), "{name}");
        }
    }
}
