"""Texts that are hard on tokenizers, the same on every run: many scripts, signs, mixtures."""

import random

SENTENCES = [
    "The ferry leaves at half past six, and whoever isn't on it will have to wait.",
    "She'd said they'll come; I'm sure we've told him he's late, but you're welcome.",
    "DON'T SHOUT, WE'RE NOT DEAF, IT'S ONLY THURSDAY AND I'VE TIME.",
    "Der Bäcker verkaufte süße Brötchen, während draußen dichter Nebel über die Straße zog.",
    "L'élève a oublié son cahier à l'école, où était-il déjà tombé l'été dernier ?",
    "El niño pequeño soñó con un pingüino que tocaba la guitarra. ¿Lo crees? ¡Yo sí!",
    "A avó pôs pão e maçãs na mesa; ninguém quis café às três da manhã.",
    "Il gatto dorme perché ha mangiato troppo; così è la vita, dice il nonno.",
    "Źrebię pogalopowało przez łąkę, a gęś zaczęła głośno gęgać.",
    "Příliš mnoho vody teče pod mostem, řekl starý převozník a zamyslel se.",
    "Az őszi eső után gyönyörű szivárvány tűnt fel a hídnál.",
    "Kırmızı ışıkta bekleyen çocuk, İstanbul'da yağmurun dinmesini istiyordu.",
    "Þórður sá ljós í glugganum og hélt áfram yfir ána.",
    "Trời hôm nay đẹp quá, chúng tôi đi bộ ra bờ sông rồi uống cà phê.",
    "Старый мост скрипел под ногами, но дети всё равно бежали к реке.",
    "Їжак знайшов яблуко під ґанком і поніс його до лісу.",
    "Η γάτα κοιμάται πάνω στο παλιό τραπέζι της κουζίνας.",
    "Ὁ ποταμὸς ῥεῖ ταχέως πρὸς τὴν θάλασσαν.",
    "הילדה קראה ספר על הים ושכחה לגמרי את השעה.",
    "שָׁלוֹם לְכֻלָּם, אָמַר הַמּוֹרֶה.",
    "ذهب الولد إلى السوق واشترى خبزًا وتمرًا لأمّه.",
    "کتاب‌های او روی میز است و پنجره باز می‌ماند.",
    "بچے صحن میں کھیل رہے ہیں اور بارش ہونے والی ہے۔",
    "नदी के किनारे एक पुराना पेड़ है, जिस पर तोते रहते हैं।",
    "আজ সকালে বৃষ্টি হয়েছে, তাই রাস্তায় জল জমেছে।",
    "இன்று காலை மழை பெய்தது, ஆனால் மாலையில் வெயில் அடித்தது.",
    "పిల్లలు తోటలో ఆడుకుంటున్నారు.",
    "ಬೆಳಗಿನ ಗಾಳಿ ತಂಪಾಗಿತ್ತು.",
    "കുട്ടി പുഴയിൽ കല്ലെറിഞ്ഞു കളിച്ചു.",
    "ਪਿੰਡ ਵਿੱਚ ਇੱਕ ਖੂਹ ਹੈ।",
    "ළමයා ගඟ අසල ඇවිද ගියේය.",
    "เมื่อวานฝนตกหนักมากจนแม่น้ำล้นตลิ่ง",
    "ເດັກນ້ອຍຫຼິ້ນຢູ່ແຄມນ້ຳ",
    "កុមារលេងនៅក្បែរទន្លេ។",
    "မနက်ဖြန် မိုးရွာမယ်လို့ ပြောတယ်။",
    "བཀྲ་ཤིས་བདེ་ལེགས། དེ་རིང་གནམ་གཤིས་ཡག་པོ་འདུག",
    "დღეს კარგი ამინდია და ბავშვები ეზოში თამაშობენ.",
    "Այսօր եղանակը լավ է, և մենք գնում ենք գետի ափ።",
    "ዛሬ ዝናብ ስለዘነበ ልጆቹ ቤት ውስጥ ናቸው።",
    "昨日の夜、駅前の小さな店で温かいうどんを食べました。カタカナとひらがな。",
    "河边有一棵老树，孩子们夏天在树下读书。价格是３８元。",
    "昨晚風很大，把院子裡的椅子吹倒了。",
    "어제는 비가 많이 와서 강물이 불어났습니다.",
    "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ᏙᎯᏧ?",
    "ᐃᓄᒃᑎᑐᑦ ᐅᖃᐅᓯᖅ",
    "Монгол бичиг ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ\u180e᠎",
    "𐌸𐌰𐍄𐌰 𐌹𐍃𐍄 𐌲𐌿𐍄𐌹𐍃𐌺",
    "𓀀𓁐𓂀 𒀀𒁀 𝔉𝔯𝔞𝔨𝔱𝔲𝔯 𝟘𝟙𝟚 ⅷ ⅞ ²³ ① ㊿",
]

CODE = [
    "def area(r):\n    return 3.14159 * r ** 2  # not exact\n\n\nprint(area(10))\n",
    "for (int i = 0; i < n; ++i) {\n\tsum += a[i]->value;\n}\n",
    "SELECT name, COUNT(*) FROM boats WHERE length >= 12.5 GROUP BY name;\n",
    "<div class=\"note\">\r\n  <p>5 &lt; 7</p>\r\n</div>\r\n",
    "{\"id\": 17, \"tags\": [\"a\", \"b\"], \"ok\": true, \"x\": -1.5e-10}",
    "https://example.org/a/b?q=caf%C3%A9&page=2#top",
    "user.name+tag@mail.example.com, ftp://10.0.0.255:8080/x_y-z~",
    "if [[ $x != \"y\" ]]; then echo ${HOME}/bin; fi && ls -la | grep '^d'",
    "\\frac{a_1}{b^2} \\leq \\sum_{i=1}^{n} x_i",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n- item\n  * sub\n\n```c\nx;\n```",
    "C:\\Users\\me\\new_file.txt\t0x1F 1_000_000 1,234.56 12:30 2024-02-29",
]

SPACES = [" ", "  ", "   ", "\n", "\n\n", "\n\n\n", "\t", "\t\t", "\r\n", " \n", "\n ", "  \n  ",
          "\u00a0", "\u00a0 ", " \u00a0", "\u3000", "\u2028", "\u2029", "\u0085", "\u1680",
          "\u2003", "\u202f", "\u205f", "\u200b", "\ufeff", "\u180e", "\v", "\f", " \t ", " " * 9,
          "\x1c", "\x1f"]

NUMBERS = ["0", "7", "42", "1999", "3.14", "1e-7", "٣٤٥", "۱۲۳", "१२३", "๔๕", "１２", "Ⅻ", "½", "²",
           "一二三", "𝟝", "໑", "𞥐", "௧௨", "㊷", "\U00010d42", "\U0001ccf5", "\U00011de3"]

EMOJI = ["😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇫🇷", "❤️", "1️⃣", "👨🏿‍🚀", "🫠", "☂", "✈︎",
         "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
         "🪿", "\U0001fae9"]

MARKS = ["e\u0301", "a\u0308\u0323", "q\u0307\u0323", "Z\u0351\u036b\u0343\u036a\u0302",
         "ก็", "क्षि", "\u0301", "ﷺ", "ﬁ", "ſt", "'ſ", "K\u212a", "İi\u0307", "ß",
         "\u1100\u1161\u11a8",
         "\u202eabc\u202c", "\u2066x\u2069"]

CONTROLS = ["\x00", "\x00\x00", "\x01", "\x04", "\x06", "\x07", "\x08", "\x13", "\x14",
            "\x16", "\x1b[31m", "\x1d",
            "\x7f", "\x80", "\x9f", "\ufffe", "\uffff", "\ufffd", "\U0010ffff", "\U00040000",
            "\U000b1234", "\ue000", "\U000f0000"]

SIGNS = ["'s", "'S", "'ll", "'LL", "’s", "''", "'", "'re", "n't", "...", "…", "!?", "--", "—", "#@",
         "$5", "€9", "_", "__init__", "«x»", "„y“", "「z」", "()", "[](", "/*", "*/", "<|", "|>",
         "<", "^",
         "`", "~~", "°C", "×", "→", "∀x∈ℝ", "\\n"]

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<reponame>", "<file_sep>",
           "<filename>", "<gh_stars>", "<issue_start>", "<issue_comment>", "<issue_closed>",
           "<jupyter_start>", "<jupyter_text>", "<jupyter_code>", "<jupyter_output>",
           "<jupyter_script>", "<empty_output>"]

# Nearly special: cut short, doubled, in the wrong case, one inside the other.
NEARLY = ["<|im_start|", "|im_end|>", "<|IM_END|>", "<<|im_end|>>", "<|im_<|im_end|>start|>",
          "<|im_start |>",
          "<repo_name", "<file_sep>>", "<|im_start|><|im_start|>", "<|endoftext|><|im_end|>\n"]


def random_character(rng):
    """Any code point that UTF-8 can write, low planes more often."""
    plane = rng.choice([0x7F, 0x7FF, 0xFFFF, 0xFFFF, 0x1FFFF, 0x33FFF, 0x10FFFF])
    while True:
        code = rng.randint(0, plane)
        if not 0xD800 <= code < 0xE000:
            return chr(code)


def fragment(rng):
    pool = rng.choice(["words", "words", "words", "slice", CODE, SPACES, SPACES, NUMBERS, EMOJI,
                       MARKS, CONTROLS, SIGNS, SIGNS, "random", "special"])
    if pool == "words":
        words = rng.choice(SENTENCES).split(" ")
        first = rng.randrange(len(words))
        return " ".join(words[first:first + rng.randint(1, 4)])
    if pool == "slice":
        sentence = rng.choice(SENTENCES)
        first = rng.randrange(len(sentence))
        return sentence[first:first + rng.randint(1, 9)]
    if pool == "random":
        return "".join(random_character(rng) for _ in range(rng.randint(1, 6)))
    if pool == "special":
        return rng.choice(SPECIAL + NEARLY)
    one = rng.choice(pool)
    if pool is CODE:
        first = rng.randrange(len(one))
        return one[first:first + rng.randint(1, 24)]
    return one


def runs():
    """One thing many times: the long pieces."""
    for unit in ["a", "A", " ", "\n", "\t", "\r\n", "0", "!", "=", "-", "é", "中", "😀", "ab", "na",
                 "\u0301", "\x00", "'", "'s", "\u00a0", "\u3000", "<", "<|"]:
        for count in (2, 3, 5, 8, 17, 50):
            yield unit * count
            yield "x " + unit * count + " y"


def texts(count, seed=20250101):
    """At least `count` different texts."""
    found = dict.fromkeys(["", *SENTENCES, *CODE, *SPACES, *NUMBERS, *EMOJI, *MARKS, *CONTROLS,
                           *SIGNS, *SPECIAL, *NEARLY])
    found.update(dict.fromkeys(runs()))
    for white in SPACES:
        found.update(dict.fromkeys([f"a{white}b", f"{white}b", f"a{white}", f"1{white}2",
                                    f"!{white}?", f"a {white} b"]))
    rng = random.Random(seed)
    while len(found) < count:
        glue = rng.choice(["", "", " "])
        found[glue.join(fragment(rng) for _ in range(rng.randint(1, 7)))] = None
    return list(found)
