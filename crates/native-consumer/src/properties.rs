//! Options by the names that Kafka's own client, and librdkafka, have for them.

use std::time::Duration;

use kafka_assigner_kafka::records::Isolation;
use kafka_assigner_kafka::{BrokerTls, Login, Mechanism, PasswordOrigin};

use crate::options::{InvalidSetting, unknown};
use crate::{GroupProtocol, NativeOptions, StartAt};

type Setter = fn(&mut NativeOptions, &'static str, &str) -> Result<(), InvalidSetting>;

/// Each property with its setter.
const PROPERTIES: [(&str, Setter); 26] = [
    ("bootstrap.servers", |options, _, value| {
        let addresses = value.split(',').map(|address| address.trim().parse());
        options.kafka.bootstrap = addresses.collect::<Result<_, _>>()?;
        Ok(())
    }),
    ("client.id", |options, _, value| text(&mut options.kafka.client_id, value)),
    ("group.id", |options, _, value| text(&mut options.group, value)),
    ("group.instance.id", |options, _, value| optional(&mut options.instance_id, value)),
    ("client.rack", |options, _, value| optional(&mut options.rack, value)),
    ("group.protocol", |options, name, value| {
        options.protocol = one_of(
            name,
            value,
            &[("classic", GroupProtocol::Classic), ("consumer", GroupProtocol::Consumer)],
        )?;
        Ok(())
    }),
    ("group.remote.assignor", |options, _, value| optional(&mut options.remote_assignor, value)),
    ("partition.assignment.strategy", |options, _, value| {
        options.strategies = value.split(',').map(|name| strategy(name.trim())).collect();
        options.offered().map(drop)
    }),
    ("auto.offset.reset", |options, name, value| {
        options.start_at = one_of(
            name,
            value,
            &[("earliest", StartAt::Earliest), ("latest", StartAt::Latest), ("none", StartAt::Refuse)],
        )?;
        Ok(())
    }),
    ("isolation.level", |options, name, value| {
        options.isolation = one_of(
            name,
            value,
            &[("read_uncommitted", Isolation::Uncommitted), ("read_committed", Isolation::Committed)],
        )?;
        Ok(())
    }),
    ("session.timeout.ms", |options, name, value| millis(&mut options.session_timeout, name, value)),
    ("heartbeat.interval.ms", |options, name, value| millis(&mut options.heartbeat_interval, name, value)),
    ("max.poll.interval.ms", |options, name, value| millis(&mut options.poll_interval, name, value)),
    ("auto.commit.interval.ms", |options, name, value| millis(&mut options.commit_interval, name, value)),
    ("metadata.max.age.ms", |options, name, value| millis(&mut options.metadata_age, name, value)),
    ("topic.metadata.refresh.interval.ms", |options, name, value| {
        millis(&mut options.metadata_age, name, value)
    }),
    ("fetch.max.wait.ms", |options, name, value| millis(&mut options.fetch_wait, name, value)),
    ("fetch.wait.max.ms", |options, name, value| millis(&mut options.fetch_wait, name, value)),
    ("fetch.min.bytes", |options, name, value| number(&mut options.fetch_least_bytes, name, value)),
    ("fetch.max.bytes", |options, name, value| number(&mut options.fetch_most_bytes, name, value)),
    ("max.partition.fetch.bytes", |options, name, value| {
        number(&mut options.partition_most_bytes, name, value)
    }),
    ("security.protocol", security),
    ("ssl.ca.location", |options, _, value| {
        options.kafka.tls.get_or_insert_with(BrokerTls::default).ca = Some(value.into());
        Ok(())
    }),
    ("sasl.mechanism", |options, name, value| {
        let known = Mechanism::NAMES;
        let mechanism = value.parse().map_err(|_| unknown(name, value, known))?;
        login(options).mechanism = mechanism;
        Ok(())
    }),
    ("sasl.username", |options, _, value| text(&mut login(options).user, value)),
    ("sasl.password", |options, _, value| {
        login(options).password = PasswordOrigin::Given(value.to_owned());
        Ok(())
    }),
];

/// Sets one property.
pub(crate) fn set(options: &mut NativeOptions, name: &str, value: &str) -> Result<(), InvalidSetting> {
    let found = PROPERTIES.iter().find(|(known, _)| *known == name);
    let (known, setter) =
        found.ok_or_else(|| unknown("property", name, PROPERTIES.iter().map(|(known, _)| *known)))?;
    setter(options, known, value)
}

/// The name of a strategy; Java's classes have theirs.
fn strategy(name: &str) -> String {
    let class = name.rsplit('.').next().unwrap_or(name);
    let known = match class {
        "RangeAssignor" => "range",
        "RoundRobinAssignor" => "roundrobin",
        "StickyAssignor" => "sticky",
        "CooperativeStickyAssignor" => "cooperative-sticky",
        _ => name,
    };
    known.to_owned()
}

fn security(options: &mut NativeOptions, name: &'static str, value: &str) -> Result<(), InvalidSetting> {
    let lower = value.to_ascii_lowercase();
    let (tls, sasl) = one_of(
        name,
        &lower,
        &[
            ("plaintext", (false, false)),
            ("ssl", (true, false)),
            ("sasl_plaintext", (false, true)),
            ("sasl_ssl", (true, true)),
        ],
    )?;
    options.kafka.tls = options.kafka.tls.take().or_else(|| Some(BrokerTls::default())).filter(|_| tls);
    if sasl {
        login(options);
    } else {
        options.kafka.login = None;
    }
    Ok(())
}

/// The login, or one that still lacks its user and its password.
fn login(options: &mut NativeOptions) -> &mut Login {
    options.kafka.login.get_or_insert_with(|| Login {
        mechanism: Mechanism::Plain,
        user: String::new(),
        password: PasswordOrigin::Given(String::new()),
    })
}

fn text(place: &mut String, value: &str) -> Result<(), InvalidSetting> {
    value.clone_into(place);
    Ok(())
}

fn optional(place: &mut Option<String>, value: &str) -> Result<(), InvalidSetting> {
    *place = Some(value.to_owned()).filter(|value| !value.is_empty());
    Ok(())
}

fn millis(place: &mut Duration, name: &'static str, value: &str) -> Result<(), InvalidSetting> {
    let mut millis = 0_u32;
    number(&mut millis, name, value)?;
    *place = Duration::from_millis(millis.into());
    Ok(())
}

fn number(place: &mut u32, name: &'static str, value: &str) -> Result<(), InvalidSetting> {
    let rule = "it must be a whole number from 0 to 4294967295";
    *place = value.parse().map_err(|_| InvalidSetting::Value { name, value: value.to_owned(), rule })?;
    Ok(())
}

fn one_of<T: Copy>(name: &'static str, value: &str, known: &[(&str, T)]) -> Result<T, InvalidSetting> {
    let found = known.iter().find(|(word, _)| *word == value);
    found
        .map(|(_, meaning)| *meaning)
        .ok_or_else(|| unknown(name, value, known.iter().map(|(word, _)| *word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TopicChoice;

    fn set_all(properties: &[(&str, &str)]) -> Result<NativeOptions, InvalidSetting> {
        let topics = TopicChoice::Named([kafka_assigner_types::name::TopicName::new("t").unwrap()].into());
        let mut options = NativeOptions::new(kafka_assigner_kafka::Options::new(Vec::new()), "g", topics);
        options.set(properties.iter().copied())?;
        Ok(options)
    }

    #[test]
    fn names_of_kafka_set_what_they_mean() {
        let options = set_all(&[
            ("bootstrap.servers", "a:1, b:2"),
            ("session.timeout.ms", "10000"),
            ("auto.offset.reset", "earliest"),
            ("isolation.level", "read_committed"),
            (
                "partition.assignment.strategy",
                "org.apache.kafka.clients.consumer.CooperativeStickyAssignor,balanced",
            ),
            ("security.protocol", "SASL_SSL"),
            ("sasl.username", "me"),
        ])
        .unwrap();
        assert_eq!(options.kafka.bootstrap.len(), 2);
        assert_eq!(options.session_timeout, Duration::from_secs(10));
        assert_eq!((options.start_at, options.isolation), (StartAt::Earliest, Isolation::Committed));
        assert_eq!(options.strategies, ["cooperative-sticky", "balanced"]);
        assert!(options.kafka.tls.is_some());
        assert_eq!(options.kafka.login.unwrap().user, "me");
        assert_eq!(set_all(&[("bootstrap.servers", "a:1")]).unwrap().validate(), Ok(()));
    }

    #[test]
    fn what_is_not_known_is_refused_with_the_nearest_name() {
        let said = |properties: &[(&str, &str)]| set_all(properties).unwrap_err().to_string();
        assert_eq!(
            said(&[("sesion.timeout.ms", "1")]),
            r#"property "sesion.timeout.ms" is not known; did you mean "session.timeout.ms"?"#
        );
        assert_eq!(
            said(&[("partition.assignment.strategy", "ballanced")]),
            r#"strategy "ballanced" is not known; did you mean "balanced"?"#
        );
        assert_eq!(
            said(&[("auto.offset.reset", "latests")]),
            r#"auto.offset.reset "latests" is not known; did you mean "latest"?"#
        );
        assert_eq!(said(&[("zzz", "1")]), r#"property "zzz" is not known"#);
        assert!(said(&[("fetch.min.bytes", "-1")]).contains("must be a whole number"));
    }

    #[test]
    fn no_time_is_too_long_to_count_with() {
        for name in 0..6 {
            let mut options = set_all(&[("bootstrap.servers", "a:1")]).unwrap();
            let times = [
                &mut options.session_timeout,
                &mut options.heartbeat_interval,
                &mut options.poll_interval,
                &mut options.commit_interval,
                &mut options.metadata_age,
                &mut options.fetch_wait,
            ];
            *times.into_iter().nth(name).unwrap() = Duration::MAX;
            assert!(options.validate().unwrap_err().to_string().contains("below 2^31 ms"));
        }
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        let refused = |properties: &[(&str, &str)]| {
            let with_broker = [&[("bootstrap.servers", "a:1")], properties].concat();
            set_all(&with_broker).unwrap().validate().unwrap_err().to_string()
        };
        assert!(refused(&[("heartbeat.interval.ms", "20000")]).contains("a third of session.timeout.ms"));
        assert!(refused(&[("max.poll.interval.ms", "1000")]).contains("at least session.timeout.ms"));
        assert!(refused(&[("metadata.max.age.ms", "1")]).contains("at least 100 ms"));
        assert!(refused(&[("fetch.max.bytes", "100000000")]).contains("at most 64 MiB"));
        assert!(refused(&[("group.id", "")]).contains("must not be empty"));
        assert!(set_all(&[]).unwrap().validate().unwrap_err().to_string().contains("must name a broker"));
    }
}
