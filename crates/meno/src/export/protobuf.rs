//! The wire format of protocol buffers, as far as an ONNX file needs it.

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// A message as bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// A whole number; negative ones take ten bytes.
    pub(super) fn integer(mut self, field: u32, value: i64) -> Self {
        self.varint(u64::from(field << 3));
        self.varint(value as u64);
        self
    }

    /// Bytes, a text among them.
    pub(super) fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.varint(u64::from(field << 3 | 2));
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// A message inside of this one.
    pub(super) fn message(self, field: u32, message: Message) -> Self {
        self.bytes(field, &message.0)
    }

    /// One after the other, each by itself.
    pub(super) fn messages(self, field: u32, messages: impl IntoIterator<Item = Message>) -> Self {
        messages.into_iter().fold(self, |message, inner| message.message(field, inner))
    }

    pub(super) fn texts<'t>(self, field: u32, texts: impl IntoIterator<Item = &'t str>) -> Self {
        texts.into_iter().fold(self, |message, text| message.text(field, text))
    }

    pub(super) fn integers(self, field: u32, values: impl IntoIterator<Item = i64>) -> Self {
        values.into_iter().fold(self, |message, value| message.integer(field, value))
    }

    /// Seven bits a byte, the lowest first; all but the last have the eighth.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_documentation() {
        // The examples of protobuf.dev/programming-guides/encoding: 150 in field 1, "testing" in field 2, both in field 3.
        let inner = || Message::default().integer(1, 150);
        assert_eq!(inner().into_bytes(), [0x08, 0x96, 0x01]);
        let text = Message::default().text(2, "testing").into_bytes();
        assert_eq!(text, b"\x12\x07testing");
        assert_eq!(Message::default().message(3, inner()).into_bytes(), [0x1A, 0x03, 0x08, 0x96, 0x01]);
        let minus_two = Message::default().integer(1, -2).into_bytes();
        assert_eq!(minus_two, [0x08, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]);
    }
}
