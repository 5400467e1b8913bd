//! The abilities of the librdkafka of this build, compared with what settings ask for.

use rdkafka::ClientConfig;

use super::error::KafkaRunnerError;
use super::options::KafkaOptions;

/// An ability that settings may need and librdkafka has only where it was built in: its own name for it, the cargo feature that builds
/// it in, and the package that has the feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ability {
    name: &'static str,
    feature: &'static str,
    package: &'static str,
}

/// The package whose features are these.
const THIS: &str = env!("CARGO_PKG_NAME");
const TLS: Ability = Ability { name: "ssl", feature: "ssl", package: THIS };
const SCRAM: Ability = Ability { name: "sasl_scram", feature: "sasl", package: THIS };
const TOKENS: Ability = Ability { name: "sasl_oauthbearer", feature: "sasl", package: THIS };
/// It links a library of the system, so that a feature of this crate would keep others from building all of its features.
const KERBEROS: Ability = Ability { name: "sasl_gssapi", feature: "gssapi", package: "rdkafka" };
const ZSTD: Ability = Ability { name: "zstd", feature: "zstd", package: THIS };

/// # Errors
///
/// [`KafkaRunnerError::NotBuiltIn`] for the first setting that this build can't follow.
pub(super) fn check(options: &KafkaOptions) -> Result<(), KafkaRunnerError> {
    let built_in = built_in();
    match missing(options, &built_in) {
        Some((setting, Ability { feature, package, .. })) => {
            Err(KafkaRunnerError::NotBuiltIn { setting, feature, package })
        }
        None => Ok(()),
    }
}

/// The abilities of librdkafka, by its own names. Where it can't be asked, it will refuse by itself what it does not have.
fn built_in() -> String {
    let asked = ClientConfig::new().create_native_config().and_then(|config| config.get("builtin.features"));
    asked.unwrap_or_default()
}

/// The first setting that asks for what is not in `built_in`.
fn missing(options: &KafkaOptions, built_in: &str) -> Option<(String, Ability)> {
    let has = |ability: Ability| built_in.is_empty() || built_in.split(',').any(|name| name == ability.name);
    let tokens = options.tokens.as_ref().map(|_| ("KafkaOptions::tokens".to_owned(), TOKENS));
    let of_settings = options.settings.iter();
    let mut asked = of_settings.filter_map(|(key, value)| Some((key.clone(), asked_by(key, value)?)));
    asked.find(|(_, ability)| !has(*ability)).or(tokens.filter(|(_, ability)| !has(*ability)))
}

/// The ability that a setting asks for.
fn asked_by(setting: &str, value: &str) -> Option<Ability> {
    let value = value.to_ascii_lowercase();
    match (setting, &*value) {
        ("security.protocol", "ssl" | "sasl_ssl") => Some(TLS),
        ("sasl.mechanism" | "sasl.mechanisms", "gssapi") => Some(KERBEROS),
        ("sasl.mechanism" | "sasl.mechanisms", "oauthbearer") => Some(TOKENS),
        ("sasl.mechanism" | "sasl.mechanisms", scram) if scram.starts_with("scram-") => Some(SCRAM),
        ("compression.codec" | "compression.type", "zstd") => Some(ZSTD),
        (key, _) if key.starts_with("ssl.") => Some(TLS),
        (key, _) if key.starts_with("sasl.kerberos.") => Some(KERBEROS),
        (key, _) if key.starts_with("sasl.oauthbearer.") => Some(TOKENS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::token_source::TokenSource;

    /// As librdkafka names what it has where only a C compiler was there.
    const BARE: &str = "gzip,snappy,regex,lz4,sasl_plain,plugins";

    fn options(settings: &[(&str, &str)]) -> KafkaOptions {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        KafkaOptions { settings: settings.collect(), ..KafkaOptions::new("b:9092", "g") }
    }

    fn feature(settings: &[(&str, &str)], built_in: &str) -> Option<&'static str> {
        missing(&options(settings), built_in).map(|(_, ability)| ability.feature)
    }

    #[test]
    fn what_is_not_built_in_is_named_by_the_feature_that_builds_it_in() {
        for (key, value, expected) in [
            ("security.protocol", "SASL_SSL", Some("ssl")),
            ("security.protocol", "sasl_plaintext", None),
            ("ssl.ca.location", "/ca.pem", Some("ssl")),
            ("sasl.mechanism", "SCRAM-SHA-512", Some("sasl")),
            ("sasl.mechanisms", "OAUTHBEARER", Some("sasl")),
            ("sasl.mechanism", "PLAIN", None),
            ("sasl.mechanism", "GSSAPI", Some("gssapi")),
            ("sasl.kerberos.keytab", "/keytab", Some("gssapi")),
            ("compression.type", "zstd", Some("zstd")),
            ("compression.type", "lz4", None),
            ("fetch.min.bytes", "7", None),
        ] {
            assert_eq!(feature(&[(key, value)], BARE), expected, "{key} = {value}");
        }
        let all = "gzip,ssl,sasl_plain,sasl_scram,sasl_oauthbearer,sasl_gssapi,zstd";
        assert_eq!(feature(&[("security.protocol", "ssl"), ("sasl.mechanism", "GSSAPI")], all), None);
    }

    #[test]
    fn a_source_of_tokens_needs_what_asks_for_them() {
        let mut with_tokens = options(&[]);
        with_tokens.tokens = Some(TokenSource::new(|_| Err("never asked".into())));
        assert_eq!(missing(&with_tokens, BARE), Some(("KafkaOptions::tokens".to_owned(), TOKENS)));
        assert_eq!(missing(&with_tokens, "sasl_oauthbearer"), None);
    }

    #[test]
    fn this_build_has_what_its_features_say_and_refuses_the_rest_by_name() {
        let built_in = built_in();
        assert!(built_in.contains("sasl_plain"), "{built_in}");
        let has = |name| built_in.split(',').any(|known| known == name);
        assert!(!cfg!(feature = "ssl") || (has("ssl") && has("sasl_scram")), "{built_in}");
        assert!(!cfg!(feature = "zstd") || has("zstd"), "{built_in}");
        if !has("sasl_gssapi") {
            let refused = check(&options(&[("sasl.mechanism", "GSSAPI")])).expect_err("refused").to_string();
            assert!(
                ["sasl.mechanism", "gssapi", "rdkafka"].iter().all(|word| refused.contains(word)),
                "{refused}"
            );
        }
    }
}
