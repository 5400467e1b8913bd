//! Putting a message together.

/// The message so far.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn int16(&mut self, value: i16) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn int32(&mut self, value: i32) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn version(&mut self, version: u16) {
        self.0.extend(version.to_be_bytes());
    }

    pub(super) fn string(&mut self, text: &str) {
        self.int16(i16::try_from(text.len()).expect("Kafka's names are far shorter than 32 KiB"));
        self.0.extend(text.as_bytes());
    }

    pub(super) fn nullable_string(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.string(text),
            None => self.int16(-1),
        }
    }

    pub(super) fn nullable_bytes(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => {
                self.int32(length(bytes.len()));
                self.0.extend(bytes);
            }
            None => self.int32(-1),
        }
    }

    pub(super) fn array<T>(&mut self, items: Vec<T>, mut item: impl FnMut(&mut Self, T)) {
        self.int32(length(items.len()));
        items.into_iter().for_each(|value| item(self, value));
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

fn length(length: usize) -> i32 {
    i32::try_from(length).expect("a message is far shorter than 2 GiB")
}
