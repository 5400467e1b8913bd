//! The way to Kafka, as its client takes it.

use kafka_assigner_kafka as kafka;

use super::serve::ServeConfig;
use super::text::Broker;

impl ServeConfig {
    /// The options of a client of the brokers; none is named where `kafka` is not set.
    pub(crate) fn kafka_options(&self) -> kafka::Options {
        let brokers = self.kafka.iter().map(Broker::address).collect();
        kafka::Options { tls: self.kafka_tls(), login: self.kafka_login(), ..kafka::Options::new(brokers) }
    }

    fn kafka_tls(&self) -> Option<kafka::BrokerTls> {
        let pair = self.kafka_cert.clone().zip(self.kafka_key.clone());
        let identity = pair.map(|(certificate, key)| kafka::Identity { certificate, key });
        self.kafka_tls.then(|| kafka::BrokerTls { ca: self.kafka_ca.clone(), identity })
    }

    fn kafka_login(&self) -> Option<kafka::Login> {
        let given = self.kafka_password.as_ref().map(|secret| secret.reveal().to_owned());
        let file = || self.kafka_password_file.clone().map(kafka::PasswordOrigin::File);
        Some(kafka::Login {
            mechanism: self.kafka_sasl_mechanism?.0,
            user: self.kafka_user.as_ref()?.to_string(),
            password: given.map(kafka::PasswordOrigin::Given).or_else(file)?,
        })
    }
}
