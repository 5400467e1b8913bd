use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::*;

settings! {
    /// A small configuration.
    pub(crate) struct Small {
        /// How often.
        every_time: Duration = "1s",
        /// True if at all.
        at_all: bool = "true",
        /// Where to, if anywhere.
        where_to: Option<PathBuf> = "",
        /// How many.
        many: Vec<u32> = "1,2",
    }
}

fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn flags(pairs: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
    pairs
        .iter()
        .map(|(name, given)| ((*name).to_owned(), given.iter().map(ToString::to_string).collect()))
        .collect()
}

fn refusal(layers: &Layers) -> String {
    Resolved::<Small>::new(layers).unwrap_err().to_string()
}

#[test]
fn a_flag_beats_a_variable_beats_the_file_beats_the_default() {
    let mut layers = Layers::default();
    let mut seen = Vec::new();
    let mut look = |layers: &Layers| {
        let resolved = Resolved::<Small>::new(layers).unwrap();
        seen.push((resolved.config.every_time.as_secs(), resolved.origins[0].to_string()));
    };
    look(&layers);
    layers.file = Layers::of_file("every_time = \"2s\"").file;
    look(&layers);
    layers.environment = texts(&[("KAFKA_ASSIGNER_EVERY_TIME", "3s")]);
    look(&layers);
    layers.flags = flags(&[("every_time", &["4s"])]);
    look(&layers);
    let expected = ["default", "from assigner.toml", "from KAFKA_ASSIGNER_EVERY_TIME", "from --every-time"];
    assert_eq!(seen, (1..).zip(expected.map(str::to_owned)).collect::<Vec<_>>());
}

#[test]
fn a_stronger_layer_replaces_a_list_and_can_empty_it() {
    let mut layers = Layers::of_file("many = [3, 4]");
    assert_eq!(Resolved::<Small>::new(&layers).unwrap().config.many, [3, 4]);
    layers.environment = texts(&[("KAFKA_ASSIGNER_MANY", "5")]);
    assert_eq!(Resolved::<Small>::new(&layers).unwrap().config.many, [5]);
    layers.flags = flags(&[("many", &[""])]);
    assert_eq!(Resolved::<Small>::new(&layers).unwrap().config.many, [0; 0]);
    layers.flags = flags(&[("many", &["5, 6", "7"])]);
    assert_eq!(Resolved::<Small>::new(&layers).unwrap().config.many, [5, 6, 7]);
}

#[test]
fn an_empty_variable_is_as_good_as_none() {
    let mut layers = Layers::of_file("every_time = \"2s\"");
    layers.environment = texts(&[("KAFKA_ASSIGNER_EVERY_TIME", ""), ("KAFKA_ASSIGNER_AT_ALL", "")]);
    let resolved = Resolved::<Small>::new(&layers).unwrap();
    assert_eq!((resolved.config.every_time.as_secs(), resolved.config.at_all), (2, true));
    assert_eq!(resolved.origins[0].to_string(), "from assigner.toml");
}

#[test]
fn an_unknown_key_is_refused_with_the_one_that_was_meant() {
    assert_eq!(
        refusal(&Layers::of_file("every_tiem = \"1s\"")),
        "\"every_tiem\" in assigner.toml is not a setting; did you mean \"every_time\"?"
    );
    assert_eq!(refusal(&Layers::of_file("colour = 1")), "\"colour\" in assigner.toml is not a setting");
}

#[test]
fn a_foreign_variable_is_left_alone() {
    let environment = texts(&[("KAFKA_ASSIGNER_PORT", "tcp://10.0.0.1:7420"), ("PATH", "/bin")]);
    Resolved::<Small>::new(&Layers { environment, ..Layers::default() }).unwrap();
}

#[test]
fn a_wrong_value_is_named_with_its_origin_and_what_is_allowed() {
    let by_flag = Layers { flags: flags(&[("every_time", &["soon"])]), ..Layers::default() };
    assert_eq!(
        refusal(&by_flag),
        "every_time = \"soon\" (from --every-time) is refused: \
         it must be a time span in whole milliseconds, such as 100ms, 30s or 5m"
    );
    assert!(refusal(&Layers::of_file("every_time = \"10us\"")).contains("\"10us\" (from assigner.toml)"));
    assert!(refusal(&Layers::of_file("at_all = \"perhaps\"")).ends_with("it must be true or false"));
    assert!(refusal(&Layers::of_file("many = [1, -1]")).contains("many = [1, -1]"));
}

#[test]
fn a_page_names_each_setting_with_its_value_and_origin() {
    let layers = Layers { flags: flags(&[("at_all", &["false"])]), ..Layers::default() };
    let page = Resolved::<Small>::new(&layers).unwrap().to_toml();
    let expected = "\
# How often.
every_time = \"1s\" # default

# True if at all.
at_all = false # from --at-all

# Where to, if anywhere.
# where_to is not set (default)

# How many.
many = [1, 2] # default
";
    assert_eq!(page, expected);
}
