//! Records of ours from those of librdkafka.

use kafka_assigner_handler::{Offset, Record, RecordHeader, RecordPacker, RecordTime, TopicPartition};
use rdkafka::Timestamp;
use rdkafka::message::{BorrowedMessage, Headers as _, Message as _};

/// The record of a message that librdkafka lends, which `packer` copies. `at` is its partition.
///
/// # Panics
///
/// The offset is negative: no log has such a record, and librdkafka delivers records of logs.
#[inline]
pub(super) fn record_of(
    packer: &mut RecordPacker,
    at: &TopicPartition,
    message: &BorrowedMessage<'_>,
) -> Record {
    let offset = Offset::new(message.offset()).expect("a record of a log has an offset from 0");
    let time = time_of(message.timestamp());
    let (key, value) = (message.key(), message.payload());
    let record = match message.headers() {
        None => packer.pack(at.clone(), offset, key, value, std::iter::empty()),
        Some(headers) => {
            let header = |index| {
                let header = headers.get(index);
                RecordHeader { name: header.key, value: header.value }
            };
            let headers = (0..headers.count()).map(header);
            packer.pack(at.clone(), offset, key, value, headers)
        }
    };
    record.with_time(time)
}

const fn time_of(timestamp: Timestamp) -> RecordTime {
    match timestamp {
        Timestamp::NotAvailable => RecordTime::None,
        Timestamp::CreateTime(millis) => RecordTime::Created(millis),
        Timestamp::LogAppendTime(millis) => RecordTime::Appended(millis),
    }
}
