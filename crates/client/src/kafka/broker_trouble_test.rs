use super::*;

const ASKING: WatchedClient = WatchedClient::Asking;
const FETCHING: WatchedClient = WatchedClient::Fetching(ReadAhead::Full);

fn at(seconds: u64) -> Moment {
    Moment(Duration::from_secs(seconds))
}

/// A look that everybody answers.
fn look(trouble: &mut BrokerTrouble, second: u64) -> Option<TroubleWord> {
    let questions = trouble.questions(at(second));
    trouble.after_look(at(second), &questions)
}

#[test]
fn a_connection_that_fails_is_told_as_the_reason_for_which_no_broker_can_be_reached() {
    let mut trouble = BrokerTrouble::default();
    trouble.heard(at(1), ASKING, BrokerFailure::Connection, "b:1: refused");
    assert_eq!((trouble.text(), trouble.next_look()), (None, None), "others may answer");
    trouble.heard(at(1), ASKING, BrokerFailure::AllDown, "1/1 brokers are down");
    assert_eq!(trouble.text().as_deref(), Some("1/1 brokers are down: b:1: refused"));
    assert_eq!(trouble.next_look(), Some(at(6)));
    let looks = (6..=50).step_by(5);
    let told: Vec<_> = looks.filter(|second| trouble.after_look(at(*second), &[]).is_some()).collect();
    assert_eq!(told, [6, 11, 21, 41]);
    assert_eq!(trouble.next_look(), Some(at(51)));
    assert_eq!(look(&mut trouble, 60), Some(TroubleWord::Over(Duration::from_secs(59))));
    assert_eq!((look(&mut trouble, 70), trouble.next_look(), trouble.text()), (None, None, None));
}

#[test]
fn what_fails_while_it_is_asked_stays_and_is_asked_about_again() {
    let mut trouble = BrokerTrouble::default();
    trouble.heard(at(1), ASKING, BrokerFailure::AllDown, "down");
    let asked = trouble.questions(at(6));
    // librdkafka tells it once.
    trouble.heard(at(6), ASKING, BrokerFailure::AllDown, "down again");
    assert_eq!(trouble.after_look(at(7), &asked), Some(TroubleWord::Lasts(Duration::from_secs(6))));
    assert_eq!((trouble.text().as_deref(), trouble.next_look()), (Some("down again"), Some(at(12))));
    assert!(matches!(look(&mut trouble, 12), Some(TroubleWord::Over(_))));
}

#[test]
fn an_answer_to_one_client_says_nothing_of_the_connections_of_another() {
    let mut trouble = BrokerTrouble::default();
    trouble.heard(at(1), ASKING, BrokerFailure::AllDown, "the first is down");
    trouble.heard(at(2), FETCHING, BrokerFailure::AllDown, "the second is down");
    let asked = trouble.questions(at(6));
    assert_eq!(asked.iter().map(|question| question.client).collect::<Vec<_>>(), [ASKING, FETCHING]);
    trouble.after_look(at(6), &asked[..1]);
    assert_eq!(trouble.text().as_deref(), Some("the second is down"));
    assert_eq!(trouble.questions(at(11)), asked[1..]);
}

#[test]
fn a_refusal_counts_while_it_comes_again_and_hides_what_follows_from_it() {
    let mut trouble = BrokerTrouble::default();
    trouble.heard(at(1), ASKING, BrokerFailure::Refused, "b:1: wrong password");
    trouble.heard(at(2), ASKING, BrokerFailure::AllDown, "1/1 brokers are down");
    assert_eq!(trouble.text().as_deref(), Some("b:1: wrong password"));
    trouble.heard(at(31), ASKING, BrokerFailure::Refused, "b:1: wrong password");
    assert_eq!(trouble.questions(at(65)), [], "another broker's answer changes nothing");
    assert_eq!(trouble.questions(at(66)).len(), 1);
}

#[test]
fn a_failure_of_another_kind_stands_beside_a_refusal() {
    let mut trouble = BrokerTrouble::default();
    trouble.heard(at(1), ASKING, BrokerFailure::Refused, "b:1: wrong password");
    trouble.heard(at(3), ASKING, BrokerFailure::Connection, "b:1: no route");
    trouble.heard(at(3), ASKING, BrokerFailure::AllDown, "1/1 brokers are down");
    assert_eq!(trouble.text().as_deref(), Some("1/1 brokers are down: b:1: no route; b:1: wrong password"));
}

#[test]
fn a_connection_that_failed_long_before_is_no_reason() {
    let mut trouble = BrokerTrouble::default();
    trouble.heard(at(1), ASKING, BrokerFailure::Connection, "b:1: refused");
    trouble.heard(at(36), ASKING, BrokerFailure::AllDown, "1/1 brokers are down");
    assert_eq!(trouble.text().as_deref(), Some("1/1 brokers are down"));
}

#[test]
fn a_token_that_can_not_be_fetched_is_no_word_about_brokers_and_over_with_the_next_one() {
    let mut trouble = BrokerTrouble::default();
    trouble.token(at(1), ASKING, Some("no route"));
    assert_eq!(trouble.text().as_deref(), Some("a token can't be fetched: no route"));
    assert_eq!(trouble.questions(at(6)), [], "brokers may answer all the while");
    assert_eq!(trouble.after_look(at(6), &[]), Some(TroubleWord::NoToken(Duration::from_secs(5))));
    trouble.token(at(8), ASKING, None);
    assert_eq!(trouble.text(), None);
    assert_eq!(trouble.after_look(at(11), &[]), Some(TroubleWord::Over(Duration::from_secs(10))));
}

#[test]
fn a_token_that_librdkafka_fetches_itself_is_no_trouble_where_a_broker_answers() {
    let text = "Failed to acquire SASL OAUTHBEARER token: no route";
    let failure = BrokerFailure::of(RDKafkaErrorCode::Authentication, text).expect("it is one");
    assert_eq!(failure, BrokerFailure::NoToken);
    let mut trouble = BrokerTrouble::default();
    trouble.heard(at(1), ASKING, failure, text);
    assert_eq!((trouble.text().as_deref(), trouble.knows_tokens(ASKING)), (Some(text), false));
    assert_eq!(look(&mut trouble, 6), None, "it was over before it was told");
    assert_eq!(trouble.text(), None);
}

#[test]
fn what_passes_by_itself_is_no_trouble() {
    assert_eq!(BrokerFailure::of(RDKafkaErrorCode::SSL, ""), Some(BrokerFailure::Refused));
    assert_eq!(
        BrokerFailure::of(RDKafkaErrorCode::Authentication, "b:1: Disconnected"),
        Some(BrokerFailure::Refused)
    );
    assert_eq!(BrokerFailure::of(RDKafkaErrorCode::RequestTimedOut, ""), None);
}
