//! Small bots in scripts without spaces, and what models do with texts in other languages than their own.

use meno::answer::Decision;
use meno::corpus::{self, Corpus, FolderText};
use meno::decision::Rejection;
use meno::train::TrainSettings;
use meno::{Model, Tokenization};

const FOREIGN: Decision = Decision::Reject { because: Rejection::Language };

const ENGLISH: &str = "nlu:
- intent: alarm
  examples: |
    - wake me up at [seven](time)
    - set an alarm for [half past six](time) please
    - I need an alarm at [noon](time)
    - wake me at [nine in the morning](time)
    - please set my alarm for [eight](time)
    - can you wake me up at [ten](time)
- intent: weather
  examples: |
    - what is the weather like in [London](city)
    - will it rain in [Paris](city) today
    - tell me the weather in [New York](city)
    - is it going to be hot in [Rome](city)
    - what will the weather be in [Berlin](city) tomorrow
    - is it cold in [Oslo](city)
";

const CHINESE: &str = "nlu:
- intent: alarm
  examples: |
    - 明天[早上七点](time)叫醒我
    - [下午三点](time)叫我起床
    - 设一个[六点半](time)的闹钟
    - 帮我定[晚上九点](time)的闹钟
    - 请在[八点](time)叫醒我
    - 请在[十点](time)叫醒我
- intent: weather
  examples: |
    - [北京](city)明天的天气怎么样
    - [上海](city)今天下雨吗
    - 我想知道[广州](city)的天气
    - [深圳](city)的天气好吗
    - 明天[南京](city)会下雨吗
    - [东京](city)今天热不热
";

const JAPANESE: &str = "nlu:
- intent: alarm
  examples: |
    - [明日の朝7時](time)に起こして
    - [午後3時](time)にアラームをセットして
    - [6時半](time)に起こしてください
    - アラームを[夜9時](time)にかけて
    - [10時](time)に起こして
    - [朝8時](time)のアラームをお願い
- intent: weather
  examples: |
    - [東京](city)の天気は
    - [大阪](city)は明日雨が降りますか
    - [京都](city)の天気を教えて
    - 明日の[札幌](city)の天気はどうですか
    - [福岡](city)は暑いですか
    - 今日[名古屋](city)は雨ですか
";

const THAI: &str = "nlu:
- intent: alarm
  examples: |
    - ปลุกฉันตอน[7 โมงเช้า](time)
    - ตั้งปลุกเวลา[หกโมง](time)
    - ช่วยปลุกฉันตอน[เที่ยง](time)ด้วย
    - ตั้งนาฬิกาปลุก[แปดโมงครึ่ง](time)
    - ปลุกฉัน[พรุ่งนี้เช้า](time)
    - ตั้งปลุกตอน[บ่ายสามโมง](time)
- intent: weather
  examples: |
    - อากาศที่[กรุงเทพ](city)เป็นอย่างไร
    - พรุ่งนี้[เชียงใหม่](city)ฝนตกไหม
    - อากาศใน[ภูเก็ต](city)วันนี้
    - [ขอนแก่น](city)ร้อนไหม
    - ที่[พัทยา](city)ฝนจะตกไหม
    - บอกอากาศที่[อยุธยา](city)หน่อย
";

/// The Japanese bot, cut into words by somebody.
const JAPANESE_WORDS: FolderText<'_> = FolderText {
    words: "明日 の 朝 7 時 に 起こし て
午後 3 時 に アラーム を セット し て
6 時半 に 起こし て ください
アラーム を 夜 9 時 に かけ て
10 時 に 起こし て
東京 の 天気 は
大阪 は 明日 雨 が 降り ます か
京都 の 天気 を 教え て
明日 の 札幌 の 天気 は どう です か
福岡 は 暑い です か",
    labels: "B-time I-time I-time I-time I-time O O O
B-time I-time I-time O O O O O O
B-time I-time O O O O
O O B-time I-time I-time O O O
B-time I-time O O O
B-city O O O
B-city O O O O O O O
B-city O O O O O
O O B-city O O O O O O
B-city O O O O",
    intents: Some("alarm\nalarm\nalarm\nalarm\nalarm\nweather\nweather\nweather\nweather\nweather"),
    truth: None,
    description: None,
};

fn rasa(yaml: &str) -> Corpus {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nlu.yml");
    std::fs::write(&path, yaml).unwrap();
    corpus::read(&path, None).unwrap()
}

fn train(corpus: &Corpus) -> Model {
    let settings = TrainSettings { epochs: 150, batch: 4, ..TrainSettings::default() };
    let model = meno::train(corpus, corpus, &settings).unwrap();
    // What was kept is all that it needs.
    Model::from_bytes(&model.to_bytes(), "again".as_ref()).unwrap()
}

/// The intent and the slots of texts, as `intent: slot=value`.
fn check(model: &Model, cases: &[(&str, &str)]) {
    let mut worker = model.worker();
    for (text, expected) in cases {
        let annotation = worker.annotate(text, Tokenization::Raw);
        for token in &annotation.tokens {
            assert_eq!(&text[token.start..token.end], token.text);
        }
        let slots = annotation.spans.iter().map(|span| {
            assert_eq!(&text[span.start..span.end], span.text);
            format!(" {}={}", span.guess.as_ref().map_or(&*span.slot, |guess| &guess.slot), span.text)
        });
        let intent = annotation.intent.as_ref().unwrap().name.to_string();
        assert_eq!(format!("{intent}:{}", slots.collect::<String>()), *expected, "{text}");
    }
}

#[test]
fn chinese() {
    let corpus = rasa(CHINESE);
    assert_eq!(corpus.utterances[0].words.join("|"), "明|天|早|上|七|点|叫|醒|我");
    check(
        &train(&corpus),
        &[
            ("上海明天的天气怎么样？", "weather: city=上海"),
            ("我想知道北京的天气。", "weather: city=北京"),
            ("请在六点半叫醒我", "alarm: time=六点半"),
            ("设一个十点的闹钟", "alarm: time=十点"),
        ],
    );
}

#[test]
fn japanese() {
    check(
        &train(&rasa(JAPANESE)),
        &[
            ("大阪の天気を教えて。", "weather: city=大阪"),
            ("名古屋の天気は？", "weather: city=名古屋"),
            ("10時に起こしてください", "alarm: time=10時"),
        ],
    );
}

#[test]
fn thai() {
    check(
        &train(&rasa(THAI)),
        &[
            ("อากาศที่เชียงใหม่เป็นอย่างไร", "weather: city=เชียงใหม่"),
            ("พรุ่งนี้ภูเก็ตฝนตกไหม?", "weather: city=ภูเก็ต"),
            ("ตั้งปลุกเวลาแปดโมงครึ่ง", "alarm: time=แปดโมงครึ่ง"),
        ],
    );
}

#[test]
fn words_that_others_have_cut() {
    let model = train(&JAPANESE_WORDS.read("ten utterances".as_ref()).unwrap());
    let text = "大阪の天気を教えて。";
    let read: Vec<String> = model.normalizer().read(text).iter().map(|token| token.word.to_owned()).collect();
    assert_eq!(read, ["大阪", "の", "天気", "を", "教え", "て"]);
    check(
        &model,
        &[
            (text, "weather: city=大阪"),
            ("札幌の天気は？", "weather: city=札幌"),
            ("9時に起こして", "alarm: time=9時"),
        ],
    );
}

/// Thirty sentences in languages that the bots below do not speak.
const SPANISH: [&str; 8] = [
    "despiértame a las seis y media por favor",
    "recuérdame llamar a mi hermana mañana",
    "qué tiempo hace en Oslo el viernes",
    "pon una alarma para las siete",
    "añade leche y huevos a mi lista de la compra",
    "va a llover esta tarde",
    "cancela mi alarma de mañana",
    "envía un mensaje a Pedro",
];
const GERMAN: [&str; 8] = [
    "weck mich bitte um halb sieben",
    "erinnere mich morgen daran meine Schwester anzurufen",
    "wie wird das Wetter am Freitag in Oslo",
    "stell einen Wecker auf sieben Uhr",
    "setz Milch und Eier auf meine Einkaufsliste",
    "wird es heute Nachmittag regnen",
    "lösche alle meine Wecker",
    "schick Peter eine Nachricht",
];
const FRENCH: [&str; 4] = [
    "réveille-moi à six heures et demie",
    "rappelle-moi d'appeler ma soeur demain",
    "quel temps fait-il à Paris vendredi",
    "ajoute du lait à ma liste de courses",
];
const RUSSIAN: [&str; 5] = [
    "разбуди меня в шесть утра",
    "напомни мне позвонить сестре завтра",
    "какая погода в Осло в пятницу",
    "поставь будильник на семь часов",
    "добавь молоко в список покупок",
];
const HAN: [&str; 5] = [
    "明天早上七点叫醒我",
    "提醒我给妈妈打电话",
    "北京明天的天气怎么样",
    "把牛奶加到购物清单",
    "今天下午会下雨吗",
];

#[test]
fn another_language_is_not_acted_upon() {
    let corpus = rasa(ENGLISH);
    let model = train(&corpus);
    let mut worker = model.worker();
    let mut decide = |text: &str| {
        let decision = worker.annotate(text, Tokenization::Raw).decision;
        (decision, worker.foreignness())
    };
    let foreign = SPANISH.iter().chain(&GERMAN).chain(&FRENCH).chain(&RUSSIAN).chain(&HAN);
    for text in foreign {
        let (decision, foreignness) = decide(text);
        assert!(decision == FOREIGN && foreignness > 0.5, "{text}: {decision:?} {foreignness}");
    }
    for text in ["wake me up at noon", "is it hot in Rome today?", "set my alarm for quarter to eight"] {
        let (_, foreignness) = decide(text);
        assert!(foreignness < 0.5, "{text}: {foreignness}");
    }
}

#[test]
fn english_is_another_language_to_a_bot_that_speaks_chinese() {
    let model = train(&rasa(CHINESE));
    assert_eq!(model.record().language.as_deref(), Some("und"));
    let mut worker = model.worker();
    for text in ["wake me up at seven", "what is the weather like in London", "погода в Осло", "ปลุกฉันตอนเที่ยง"]
    {
        assert_eq!(worker.annotate(text, Tokenization::Raw).decision, FOREIGN, "{text}");
    }
    // Characters that it has never seen, but the script is its own.
    worker.annotate("哈尔滨明天的天气怎么样", Tokenization::Raw);
    assert!(worker.foreignness() < 0.5, "{}", worker.foreignness());
}
