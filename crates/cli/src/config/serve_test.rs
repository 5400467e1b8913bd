use super::*;
use crate::config::flags::Flags;
use crate::config::resolved::Configuration;

fn resolve(file: &str) -> Result<Resolved<ServeConfig>, ConfigError> {
    ServeConfig::resolve(&Layers::of_file(file))
}

fn refusal(file: &str) -> String {
    resolve(file).unwrap_err().to_string()
}

#[test]
fn the_defaults_need_nothing_and_create_groups_as_the_core_does() {
    let resolved = ServeConfig::resolve(&Layers::default()).unwrap();
    assert_eq!(resolved.config.group_config(), GroupConfig::default());
    assert_eq!(resolved.config.prefix.to_string(), kafka_assigner_core::key::DEFAULT_PREFIX);
    assert_eq!(resolved.config.listen.to_string(), "127.0.0.1:7420");
    assert!(resolved.config.auto_create);
}

#[test]
fn what_is_printed_gives_the_same_configuration_when_it_is_read() {
    let file = r#"
        listen = "0.0.0.0:1"
        advertise = "http://a:1"
        insecure = true
        etcd = ["http://a:2379", "http://b:2379"]
        etcd_compaction = false
        kafka = ["k:9092"]
        kafka_tls = true
        kafka_sasl_mechanism = "SCRAM-SHA-512"
        kafka_user = "me"
        kafka_password_file = "/run/secrets/kafka"
        leader_ttl = "2500ms"
        suspect_after = "0s"
        log_format = "json"
        group_max_warming = 3
    "#;
    let printed = resolve(file).unwrap();
    let read = resolve(&printed.to_toml()).unwrap();
    assert_eq!(read.config, printed.config);
}

#[test]
fn callers_are_not_sent_to_a_plain_address_of_a_server_with_tls() {
    let tls = "tls_cert = \"c\"\ntls_key = \"k\"\n";
    let error = refusal(&format!("{tls}advertise = \"http://a:1\""));
    assert!(error.contains("it must be an https:// URL, since tls_cert is set"), "{error}");
    assert!(resolve(&format!("{tls}advertise = \"https://a:1\"")).is_ok());
}

#[test]
fn a_mistyped_word_of_a_setting_is_put_right() {
    let error = refusal("group_strategy = \"balancd\"");
    assert!(error.ends_with("; did you mean \"balanced\"?"), "{error}");
    assert!(refusal("log_format = \"jsn\"").ends_with("; did you mean \"json\"?"));
}

#[test]
fn secrets_are_not_printed() {
    let file = r#"
        etcd = "http://a:2379"
        etcd_user = "me"
        etcd_password = "hunter2"
        kafka = "k:9092"
        kafka_sasl_mechanism = "PLAIN"
        kafka_user = "me"
        kafka_password = "hunter2"
    "#;
    let error = refusal(file);
    assert!(error.starts_with("etcd = \"http://a:2379\"") && error.contains("must be a list"), "{error}");
    let lists =
        file.replace("\"http://a:2379\"", "[\"http://a:2379\"]").replace("\"k:9092\"", "[\"k:9092\"]");
    let resolved = resolve(&lists).unwrap();
    let page = resolved.to_toml();
    assert!(!page.contains("hunter2"), "{page}");
    assert!(page.contains("# etcd_password = (hidden) # from assigner.toml"), "{page}");
    assert!(page.contains("# kafka_password = (hidden) # from assigner.toml"), "{page}");
    assert!(!format!("{resolved:?}").contains("hunter2"));
    assert_eq!(resolved.config.etcd_password.unwrap().reveal(), "hunter2");
}

#[test]
fn the_password_of_etcd_is_given_or_in_a_file() {
    let etcd = "etcd = [\"http://a:2379\"]\n";
    let user = format!("{etcd}etcd_user = \"me\"\n");
    let file = "etcd_password_file = \"/run/secrets/etcd\"\n";
    let config = resolve(&format!("{user}{file}")).unwrap().config;
    assert_eq!(config.etcd_password_file, Some(PathBuf::from("/run/secrets/etcd")));
    let both = refusal(&format!("{user}{file}etcd_password = \"hunter2\""));
    assert_eq!(
        both,
        "etcd_password_file = \"/run/secrets/etcd\" (from assigner.toml) is refused: it must be left out where \
         etcd_password is set"
    );
    assert_eq!(refusal(&user), "etcd_user (from assigner.toml) needs etcd_password, which is not set");
    let lone = refusal(&format!("{etcd}{file}"));
    assert_eq!(lone, "etcd_password_file (from assigner.toml) needs etcd_user, which is not set");
}

#[test]
fn a_password_file_may_be_named_by_a_variable() {
    let variable = |name: &str, value: &str| (format!("KAFKA_ASSIGNER_{name}"), value.to_owned());
    let environment = [
        variable("ETCD", "http://a:2379"),
        variable("ETCD_USER", "me"),
        variable("ETCD_PASSWORD_FILE", "/run/secrets/etcd"),
    ];
    let layers = Layers { environment: environment.into(), ..Layers::default() };
    let config = ServeConfig::resolve(&layers).unwrap().config;
    assert_eq!(config.etcd_password_file, Some(PathBuf::from("/run/secrets/etcd")));
}

#[test]
fn a_wrong_secret_is_refused_unseen() {
    assert!(!refusal("etcd_password = 12345").contains("12345"));
    assert!(!refusal("kafka_password = 12345").contains("12345"));
}

#[test]
fn halves_of_pairs_are_refused() {
    for (file, missing) in [
        ("tls_cert = \"c\"", "tls_key"),
        ("tls_key = \"k\"", "tls_cert"),
        ("tls_client_ca = \"c\"", "tls_cert"),
        ("etcd_user = \"u\"", "etcd_password"),
        ("etcd_user = \"u\"\netcd_password = \"p\"", "etcd"),
        ("etcd = [\"https://e:2379\"]", "etcd_ca"),
        ("kafka_tls = true", "kafka"),
        ("kafka = [\"k:1\"]\nkafka_ca = \"c\"", "kafka_tls"),
        ("kafka = [\"k:1\"]\nkafka_tls = true\nkafka_cert = \"c\"", "kafka_key"),
        ("kafka = [\"k:1\"]\nkafka_tls = true\nkafka_key = \"k\"", "kafka_cert"),
        ("kafka = [\"k:1\"]\nkafka_user = \"u\"", "kafka_sasl_mechanism"),
        ("kafka = [\"k:1\"]\nkafka_sasl_mechanism = \"PLAIN\"", "kafka_user"),
        ("kafka = [\"k:1\"]\nkafka_sasl_mechanism = \"PLAIN\"\nkafka_user = \"u\"", "kafka_password"),
        ("kafka = [\"k:1\"]\nkafka_password = \"p\"", "kafka_user"),
        ("kafka = [\"k:1\"]\nkafka_password_file = \"f\"", "kafka_user"),
        ("kafka_sasl_mechanism = \"PLAIN\"", "kafka"),
    ] {
        let error = refusal(file);
        assert!(error.ends_with(&format!("needs {missing}, which is not set")), "{file}: {error}");
    }
}

#[test]
fn a_password_of_kafka_has_one_origin_and_a_login_a_known_way() {
    let user = "kafka = [\"k:1\"]\nkafka_sasl_mechanism = \"PLAIN\"\nkafka_user = \"u\"\n";
    let both = refusal(&format!("{user}kafka_password = \"hunter2\"\nkafka_password_file = \"f\""));
    assert!(both.ends_with("it must be left out where kafka_password is set"), "{both}");
    resolve(&format!("{user}kafka_password_file = \"f\"")).unwrap();
    let unknown = refusal("kafka = [\"k:1\"]\nkafka_sasl_mechanism = \"SCRAM-SHA-25\"");
    assert!(unknown.contains("it must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"), "{unknown}");
    let gone = refusal("kafka_properties = {}");
    assert!(gone.contains("\"kafka_properties\" in assigner.toml is not a setting"), "{gone}");
}

#[test]
fn listening_beyond_the_machine_needs_tls_or_consent() {
    let error = refusal("listen = \"0.0.0.0:7420\"");
    assert_eq!(
        error,
        "listen = \"0.0.0.0:7420\" (from assigner.toml) is refused: \
         it must be a loopback address unless tls_cert or insecure is set"
    );
    resolve("listen = \"192.0.2.1:7420\"\ninsecure = true").unwrap();
    let tls = "listen = \"192.0.2.1:7420\"\ntls_cert = \"c\"\ntls_key = \"k\"\n";
    assert!(
        refusal(tls).contains("unless tls_client_ca, access_file or insecure is set"),
        "{}",
        refusal(tls)
    );
    for callers in ["tls_client_ca = \"a\"", "access_file = \"f\"", "insecure = true"] {
        resolve(&format!("{tls}{callers}")).unwrap();
    }
    assert!(refusal("http_listen = \"[::]:7421\"").contains("http_listen"));
    assert!(refusal("http_listen = \"127.0.0.1:7420\"").contains("another address"));
}

#[test]
fn a_refused_default_for_groups_is_named_as_it_is_set() {
    assert_eq!(
        refusal("group_session_timeout = \"1s\""),
        "group_session_timeout = \"1s\" (from assigner.toml) is refused: it must be 2s to 30m"
    );
    assert!(refusal("group_max_warming = 0").contains("group_max_warming = 0"));
    assert!(refusal("group_strategy = \"best\"").contains("one of balanced, sticky-balanced"));
    assert!(refusal("leader_ttl = \"1s\"").contains("it must be 2s to 1m"));
    assert!(refusal("suspect_after = \"2m\"").contains("it must be at most 1m"));
    for refused in ["3s", "61s"] {
        let refused = refusal(&format!("stream_patience = \"{refused}\""));
        assert!(refused.contains("it must be 4s to 1m"), "{refused}");
    }
}

#[test]
fn every_default_for_groups_is_refused_under_its_own_name() {
    let resolved = ServeConfig::resolve(&Layers::default()).unwrap();
    for field in [
        "session_timeout_ms",
        "debounce_ms",
        "warm_deadline_ms",
        "phase_deadline_ms",
        "drain_deadline_ms",
        "hold_deadline_ms",
        "takeover_after_ms",
        "max_moves_in_flight",
        "max_warming",
        "rejoin_grace_ms",
    ] {
        let error = resolved.refuse_group(field, 1, 2).to_string();
        assert!(error.contains(field.trim_end_matches("_ms")), "{error}");
    }
}

#[test]
fn an_address_that_nobody_can_reach_is_not_told_to_consumers() {
    for listen in ["0.0.0.0:7420", "[::]:7420"] {
        let file = format!("listen = \"{listen}\"\ninsecure = true");
        assert_eq!(
            refusal(&file),
            format!(
                "listen = \"{listen}\" (from assigner.toml) is refused: it must be one address of this machine \
                 unless advertise says where others reach this instance"
            )
        );
        resolve(&format!("{file}\nadvertise = \"http://a:7420\"")).unwrap();
    }
}

#[test]
fn each_setting_is_a_flag() {
    let command = <Flags<ServeConfig> as clap::Args>::augment_args(clap::Command::new("serve"));
    command.clone().debug_assert();
    let line = [
        "serve",
        "--insecure",
        "--etcd",
        "http://a:1,http://b:1",
        "--etcd=http://c:1",
        "--auto-create=false",
    ];
    let matches = command.try_get_matches_from(line).unwrap();
    let flags = <Flags<ServeConfig> as clap::FromArgMatches>::from_arg_matches(&matches).unwrap();
    let layers = Layers { flags: flags.given, ..Layers::default() };
    let config = ServeConfig::resolve(&layers).unwrap().config;
    assert!(config.insecure && !config.auto_create);
    assert_eq!(config.etcd.len(), 3);
    assert_eq!(ServeConfig::SETTINGS.len(), config.values().len());
}
