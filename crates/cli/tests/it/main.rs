//! The program as its users meet it: transcripts of commands against an instance that answers from a script.
//!
//! The guide's own examples are among the transcripts, so that they can't fall behind the program. After a wanted
//! change `TRYCMD=overwrite cargo test -p kafka-assigner-cli` writes them anew.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod assign;
mod copartition;
mod instance;
mod kafka_broker;
mod kafka_script;
mod lines;
mod planned;
mod reported;
mod scripts;
mod serve;
mod spread;
mod store;

use trycmd::TestCases;

use instance::Instance;
use kafka_broker::ScriptedBroker;

fn cases(instance: &Instance) -> TestCases {
    let cases = TestCases::new();
    cases.default_bin_name("kafka-assigner");
    cases.env("KAFKA_ASSIGNER_SERVER", instance.url());
    cases.env("COLUMNS", "100");
    cases.insert_var("[SINCE]", scripts::SINCE.to_string()).expect("a valid name for a variable");
    cases.insert_var("[SERVER]", instance.url().to_owned()).expect("a valid name for a variable");
    cases
}

#[test]
fn commands_print_what_the_guide_shows() {
    let instance = Instance::start(scripts::orders());
    cases(&instance).case("../../docs/guide/*.md").skip("../../docs/guide/commands.md");
}

#[test]
fn commands_print_what_their_page_shows() {
    let instance = Instance::start(scripts::orders());
    let (broker, cases) = (ScriptedBroker::start(), cases(&instance));
    cases.env("KAFKA_ASSIGNER_KAFKA", broker.address());
    cases.insert_var("[KAFKA]", broker.address().to_owned()).expect("a valid name for a variable");
    cases.case("../../docs/guide/commands.md").case("tests/cmd/kafka/*.md");
}

#[test]
fn commands_print_what_the_transcripts_say() {
    let instance = Instance::start(scripts::orders());
    cases(&instance).case("tests/cmd/*.md");
}

#[test]
fn the_first_instance_that_answers_is_asked() {
    let instance = Instance::start(scripts::orders());
    let cases = cases(&instance);
    let address = instance.url().strip_prefix("http://").unwrap();
    cases.env("KAFKA_ASSIGNER_SERVER", format!("http://127.0.0.1:1,{address}"));
    cases.case("tests/cmd/several/*.md");
}

#[test]
fn an_empty_instance_is_shown_in_words() {
    let instance = Instance::start(scripts::Script::default());
    cases(&instance).case("tests/cmd/empty/*.md");
}
