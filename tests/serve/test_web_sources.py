"""The page's own sources: exact JSON, text made visible, Markdown; all in linear time."""

import json
import random
import re
import sys
import unicodedata
from itertools import accumulate, count, takewhile
from typing import Any

import pytest
from tests.serve._web import MARKDOWN, SOURCES, run_sources

from toolwright.messages import count_marks, lookalikes, pretences, visible

NUMBERS = [
    "0", "-0", "1", "-17", "1.0", "0.10", "1e5", "1E+05", "1e400", "-1e-400", "12345678901234567891",
    "9007199254740993", "0.1234567890123456789012345", "100000000000000000000000", "1e-05", "1.5",
]  # fmt: skip


def exactly(text: str) -> Any:
    """JSON with every number as it is written."""
    return json.loads(text, parse_int=str, parse_float=str)


def some_json(dice: random.Random, depth: int = 0) -> str:
    """JSON text with awkward numbers, names and strings in it."""
    kind = dice.randrange(7 if depth < 5 else 5)
    if kind < 2:
        return dice.choice(NUMBERS)
    if kind < 4:
        text = dice.choice(['1.0"', "\\", "\\\\\\", "\u2028\ud83d", "{[,:]}", "line\n", "é\x00"])
        return json.dumps(text * dice.randrange(4), ensure_ascii=dice.random() < 0.5)
    if kind == 4:
        return dice.choice(["true", "false", "null"])
    inside = [some_json(dice, depth + 1) for _ in range(dice.randrange(4))]
    if kind == 5:
        return f"[{' , '.join(inside)}]"
    names = ["__proto__", "constructor", "7", "a", "arguments", 'q"']
    return f"{{{', '.join(f'{json.dumps(dice.choice(names))}: {item}' for item in inside)}}}"


def test_every_number_keeps_its_text_through_the_page() -> None:
    dice = random.Random(16)
    texts = [*NUMBERS, *(some_json(dice) for _ in range(2000))]
    script = """
        import { parse, stringify } from "./exact.ts";
        send(given.map((text) => [stringify(parse(text)), stringify(parse(text), true)]));
    """
    for text, written in zip(texts, run_sources(script, texts), strict=True):
        assert [exactly(written[0]), exactly(written[1])] == [exactly(text)] * 2


def test_numbers_of_tools_are_exact_and_those_of_the_page_are_plain() -> None:
    sent = (
        '{"at": 1.0, "usage": {"cost": 0.0}, "pending": {"deadline": 2.0, "arguments": {"a": 1.0},'
        ' "payload": [2.50]}, "result": {"data": 3.0}, "actions": {"state_delta": {"b": 4.0}}}'
    )
    kept = {
        "at": "1", "usage": {"cost": "0"}, "pending": {"deadline": "2", "arguments": {"a": "1.0"}, "payload": ["2.50"]},
        "result": {"data": "3.0"}, "actions": {"state_delta": {"b": "4.0"}},
    }  # fmt: skip
    script = 'import { parseSent, stringify } from "./exact.ts"; send(stringify(parseSent(given)));'
    assert exactly(run_sources(script, sent)) == kept


def test_json_of_any_depth_and_length_is_read_and_written() -> None:
    script = """
        import { parse, stringify } from "./exact.ts";
        const deep = "[".repeat(100_000) + "1.0" + "]".repeat(100_000);
        const long = `[1.0,"${"\\\\n".repeat(3_000_000)}"]`;
        send([stringify(parse(deep)) === deep, stringify(parse(long)) === long]);
    """
    assert run_sources(script) == [True, True]


@pytest.mark.parametrize("wrong", ["{", "01", "[1,]", "NaN", "1.", "{'a': 1}", ""])
def test_what_is_no_json_is_refused(wrong: str) -> None:
    script = """
        import { parse } from "./exact.ts";
        try { parse(given); send("read"); } catch (error) { send(error.name); }
    """
    assert run_sources(script, wrong) == "SyntaxError"


def test_one_file_reads_and_writes_json() -> None:
    elsewhere = {
        path.name: found
        for path in SOURCES.rglob("*.ts*")
        if path.name != "exact.ts"
        and (found := re.findall(r"JSON\.(?:parse|stringify)|response\.json", path.read_text()))
    }
    assert elsewhere == {}


PILE = "\u0301" * 400
TEXTS = [
    "plain", "two\nlines\tand a tab", "DOS\r\nlines", "lone\rreturn", "⚠️ 👩‍🚀 👍🏽 ❤️‍🔥", "a\ufe0fb\u200dc", "\u200d👍", "שָׁלוֹם",
    f"a{PILE}b", PILE, "a" + "\u0301" * 5, "a" + "\u0301" * 6, "a\u0301\u20dd" * 9, "\U0001e8d0" * 9, "e\u0301" * 90,
    "\ud83d", "\udc1b\ud83d", "\U000f0041\x1b[2J", "x\u202ey\u2066",
]  # fmt: skip


def assigned() -> list[str]:
    """Every character that Python knows, each among plain ones."""
    known = (chr(n) for n in range(sys.maxunicode + 1))
    return [char for char in known if unicodedata.category(char) not in ("Cn", "Co", "Cs")]


def test_terminal_and_page_mark_the_same_characters() -> None:
    texts = [*TEXTS, "".join(f"a{char}b " for char in assigned())]
    script = """
        import { countMarks, marked, visible } from "./visible.ts";
        send(given.map((text) => [visible(text), countMarks(text), marked(text).join("") === visible(text)]));
    """
    for text, (shown, marks, is_same) in zip(texts, run_sources(script, texts), strict=True):
        # The page keeps a line end as it came; so does the terminal.
        assert shown == visible(text)
        assert (marks, is_same) == (count_marks(text), True)


MIXED = [
    "p\u0430ypal.com", "rm \u03bfut", "\U0001d42bm", "\uff52m", "Москва", "Größe, naïve", "αβγ", "东京 Tokyo", "plain",
    "рау\u0301pal", "a_\u0430", "naı\u0307ve", "\u0430" * 300 + "b", "x" * 300 + "".join(map(chr, range(0x430, 0x44F))), "кл klein",
    "https://\u0430\u0440\u0440\u04cf\u0435.com", "p\u0251ypal", "bank.example\u2044.evil.example", "g\u101d\u101dgle",
    "a\u2024b", "файл.txt", "k\u0131z", "\u201cquoted\u201d \u2013 text\u2019s", "価格：100円", "שלום",
]  # fmt: skip


def test_terminal_and_page_name_the_same_lookalikes() -> None:
    script = (
        'import { lookalikes } from "./visible.ts"; send(given.map((text) => lookalikes(text)));'
    )
    signs = [char for char in assigned() if unicodedata.category(char)[0] in "PS"]
    text = "".join(f"a{char}b a{char}{char} {char}b 中{char}b é{char}- " for char in signs)
    assert run_sources(script, [text]) == [lookalikes(text)]
    named = run_sources(script, MIXED)
    assert named == [lookalikes(text) for text in MIXED]
    assert [bool(words) for words in named] == [True] * 4 + [False] * 5 + [True, True, False, True, True, False] + [True] * 5 + [False] * 5  # fmt: skip
    assert max(len(word) for words in named for word in words) < 160


def test_terminal_and_page_know_the_same_letters_from_right_to_left() -> None:
    script = (
        'import { inRuns } from "./visible.ts"; send(given.map((text) => inRuns(text).length > 1));'
    )
    texts = [f"a{char}b" for char in assigned() if not char.isascii()]
    told = [any("right to left" in line for line in pretences(text)) for text in texts]
    assert run_sources(script, texts) == told
    assert 1000 < sum(told) < 10_000


INLINE = {
    "a **b** *c* ~~d~~ `e`": 'a <strong>b</strong> <em>c</em> <del>d</del> <code>e</code>',
    "***x*** **重点：**内容": "<em><strong>x</strong></em> <strong>重点：</strong>内容",
    "*a **b** c* **a _b** c_": "<em>a <strong>b</strong> c</em> <strong>a _b</strong> c_",
    "__init__ foo__bar__ 2 * 3 * 4 ~y~": "<strong>init</strong> foo__bar__ 2 * 3 * 4 ~y~",
    "`a``b` ``c`d`` `open": "<code>a``b</code> <code>c`d</code> `open",
    r"\*a\* \`b *c `d*` e*": "*a* `b <em>c <code>d*</code> e</em>",
    "[a](b) [c *d*](<e f> 'g') [h](i(j)k)": '<a b>a</a> <a e f>c <em>d</em></a> <a i(j)k>h</a>',
    "[a [b](c) d](e) *x [y*](z)": "[a <a c>b</a> d](e) *x <a z>y*</a>",
    "[a](b [c](d e) [f] ](g)": "[a](b [c](d e) [f] ](g)",
    "![p](data:image/png;base64,AA==) ![q](http://r)": "<img p data:image/png;base64,AA==> <a http://r>q</a>",
    "(http://a.b/c_(d)). <HTTP://e> [http://f](g)": '(<a http://a.b/c_(d)>http://a.b/c_(d)</a>). <a HTTP://e>HTTP://e</a> <a g>http://f</a>',
    "a\\\nb  \nc": "a<br>b<br>c",
}  # fmt: skip


HTML = """
    const { readMarkdown } = await import(given.markdown);
    const all = (parts, of) => parts.map(of).join("");
    const tag = (name, inside) => `<${name}>${inside}</${name.split(" ")[0]}>`;
    const inline = (part) => typeof part === "string" ? part
      : part.kind === "code" ? tag("code", part.text)
      : part.kind === "break" ? "<br>"
      : part.kind === "image" ? `<img ${part.alt} ${part.address}>`
      : tag(part.kind === "link" ? `a ${part.address}` : part.kind, all(part.of, inline));
    const row = (cells) => tag("tr", all(cells, (cell) => tag("td", all(cell, inline))));
    const block = (part) => part.kind === "rule" ? "<hr>"
      : part.kind === "code" ? tag(`pre${part.language && ` ${part.language}`}`, part.text)
      : part.kind === "quote" ? tag("q", all(part.of, block))
      : part.kind === "table" ? tag("table", row(part.head) + all(part.rows, row))
      : part.kind === "list" ? tag(part.start === null ? "ul" : `ol ${part.start}`,
          all(part.items, (item) => tag(`li${item.task && ` ${item.task} ${item.label}`}`, all(item.of, inline) + all(item.more, block))))
      : tag(part.kind === "heading" ? `h${part.level}` : "p", all(part.of, inline));
    send(given.texts.map((text) => all(readMarkdown(text), block)));
"""


def as_html(texts: list[str]) -> list[str]:
    """What the page makes of each text, in a short kind of HTML."""
    read: list[str] = run_sources(HTML, {"markdown": MARKDOWN, "texts": texts})
    return read


def test_what_a_paragraph_may_have_inside() -> None:
    shown = [f"<p>{html}</p>" for html in INLINE.values()]
    assert as_html(list(INLINE)) == shown


TABLE = "a|b\n-|-\n1|2\n"
ROWS = "<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>"
BLOCKS = {
    "[![ok](https://p)](https://q)": "<p><a https://q>ok</a></p>",
    "[![ok](data:image/png;base64,AA==)](https://q)": "<p><a https://q><img ok data:image/png;base64,AA==></a></p>",
    "[a][1], [two], [none][3]\n\n[1]: https://x\n[two]: https://y": "<p><a https://x>a</a>, <a https://y>two</a>, [none][3]</p>",
    TABLE + "> c | d": ROWS + "<q><p>c | d</p></q>",
    TABLE + "- c | d": ROWS + "<ul><li>c | d</li></ul>",
    TABLE + "# c | d": ROWS + "<h1>c | d</h1>",
    TABLE + "```\nc | d\n```": ROWS + "<pre>c | d</pre>",
    "a|b\n-|-\n1": "<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td></td></tr></table>",
    "1. a\n   ```\n   b\n     c\n   ```\n2. d": "<ol 1><li>a<pre>b\n  c</pre></li><li>d</li></ol>",
    "3) a\n\n   b": "<ol 3><li>a<p>b</p></li></ol>",
    "- [x] a *b*\n- [ ] c\n- [y] d": "<ul><li done a b>a <em>b</em></li><li open c>c</li><li>[y] d</li></ul>",
    "***both*** a\n===\n---": "<h1><em><strong>both</strong></em> a</h1><hr>",
    "\n".join(" " * n + "- a" for n in range(0, 36, 2)) + "\n\nb": "<ul><li>a" * 15 + "<ul><li>a\n- a\n  - a" + "</li></ul>" * 16 + "<p>b</p>",
    "``` py title=x\na\n```\n~~~c++\nb": "<pre py>a</pre><pre c++>b</pre>",
    "> a\nb": "<q><p>a\nb</p></q>",
    "<b>a</b> &lt; &amp;": "<p><b>a</b> < &</p>",
    "a&#x202e;b [c](x&#x202e;y)": r"<p>a\u202eb <a x\u202ey>c</a></p>",
    "[a](javascript:b) www.c.d e@f.g ftp://h": "<p><a javascript:b>a</a> www.c.d e@f.g ftp://h</p>",
}  # fmt: skip


def test_what_a_message_may_have_inside() -> None:
    assert dict(zip(BLOCKS, as_html(list(BLOCKS)), strict=True)) == BLOCKS


def test_nesting_and_the_number_of_elements_are_bounded() -> None:
    script = """
        const { readMarkdown } = await import(given.markdown);
        const size = (node) => Array.isArray(node) ? node.reduce((sum, part) => sum + size(part), 0)
          : node && typeof node === "object" ? 1 + size(Object.values(node)) : 0;
        const depth = (node) => node && typeof node === "object" ? 1 + Math.max(0, ...Object.values(node).map(depth)) : 0;
        const words = (node) => typeof node === "string" ? node : node && typeof node === "object" ? Object.values(node).map(words).join("") : "";
        send(given.texts.map((text) => { const read = readMarkdown(text); return [depth(read), size(read), words(read).includes("THE END")]; }));
    """
    many = 32_000
    texts = [
        "*a **b " * 300 + "b** a*" * 300 + " THE END",
        ">" * 300 + " THE END",
        "\n".join(" " * n + "- a" for n in range(300)) + " THE END",
        *(unit * many + "\nTHE END" for unit in ("`a` ", "- a\n", "a\n=\n", "|\n")),
        "|".join("a" * many) + "\n" + "|".join("-" * many) + "\n" + "|\n" * many + "THE END",
    ]
    given = {"markdown": MARKDOWN, "texts": texts}
    for depth, size, is_whole in run_sources(script, given):
        assert depth < 120
        assert size < 70_000
        assert is_whole


def growing(unit: str) -> str:
    """`unit` once, twice, three times, …, with a letter between."""
    rows = (unit * n + "a" for n in count(1))
    ends = accumulate(range(2, 10**6))
    return "".join(row for row, _ in takewhile(lambda pair: pair[1] < 20_000, zip(rows, ends)))  # noqa: B905


WORDS = ("я", "中", "ب", "कि", "ก", "한", "👩‍🚀", "\U0001d42b", "ａ", "aя", "aя ", "x")
SIGNS = (
    "\u0301", "a\u0301", "\u200b", "\u200d", "\ufe0f", "\ud83d", "\udc00", "\r", "\t", " ", "  \n", "\n", "\\", "`", "` ", "`a``",
    "[", "]", "[]", "![", "[a](", "[a](b", "[a](<b", '[a](b "', "[a](b '", "[a](b(", "[[a]", "[a](b)", "[a](b\\",
    ">", "> ", ">>\n", "- ", "- a\n", "1. a\n\n", " - a\n", "* ", "*", "*a ", "**a ", "*a **b ", "a*", "*a_b~~c", " __a", "_a", "a_ ", "*_~`[", "~~a ", "***a **", "**a*b",
    "|", "a|b\n", "|\n", "a|b\n-|-\n", "\\|", "http://a", "http://a. ", "<http://a", "http://", "# ", "#", "a\n=\n", "-", "```\n", "~~~a\n", '{"a":1.0,', '"\\"',
)  # fmt: skip
LENGTH = 4_000
SHAPES = {
    "growing rows of backticks": lambda n: growing("`")[:n],
    "nested emphasis": lambda n: "*a **b " * (n // 14) + "b** a*" * (n // 14),
    "emphasis that finds no partner": lambda n: "_a " * (n // 6) + "a* " * (n // 6),
    "nested labels": lambda n: "[" * (n // 5) + "](b)" * (n // 5),
    "brackets in an address": lambda n: "[a](" + "(" * n,
    "a stair of lists": lambda n: "\n".join(" " * (at % 60) + "- a" for at in range(n // 34)),
    "a wide table of short rows": lambda n: "a|" * (n // 6) + "\n" + "-|" * (n // 6) + "\n" + "|\n" * (n // 6),
    "a heading of signs": lambda n: "# " + "#" * n + "x",
    "a line of spaces": lambda n: "- a" + " " * n + "x",
    "closing brackets": lambda n: "http://a" + ")" * n,
    "an item and blank lines": lambda n: "- a\n" + " \n" * (n // 2),
}  # fmt: skip


def hostile(length: int) -> dict[str, str]:
    repeated = {
        repr(unit): (unit * (length // len(unit) + 1))[:length] for unit in (*WORDS, *SIGNS)
    }
    return repeated | {name: shape(length) for name, shape in SHAPES.items()}


def test_every_text_takes_a_time_that_grows_with_its_length() -> None:
    """Four times the text may take ten times as long, and some milliseconds; not sixteen times."""
    script = """
        import { parse, stringify } from "./exact.ts";
        import { inThree, shortName, sizeOf, SIZES } from "./cut.ts";
        const { readMarkdown } = await import(given.markdown);
        import { countMarks, inRuns, inWords, lookalikes, marked, visible, withSpacesMarked } from "./visible.ts";
        import { summary } from "./words.ts";
        const WAYS = {
          readMarkdown, visible, marked, countMarks, lookalikes, inRuns, withSpacesMarked, inWords, sizeOf, shortName,
          inThree: (text) => inThree(text, SIZES.value),
          json: (text) => stringify(parse(stringify([text]).replace("[", "[1.0,")), true),
          summary: (text) => summary(stringify({ a: text, b: [text] })),
        };
        // The processor's time of this thread, in milliseconds: whatever else the machine does is not counted.
        const now = () => { const { user, system } = process.threadCpuUsage(); return (user + system) / 1000; };
        const time = (way, text) => {
          let best = Infinity;
          for (let run = 0; run < 2; run++) {
            const start = now();
            way(text);
            best = Math.min(best, now() - start);
          }
          return best;
        };
        const slow = [];
        for (const [name, [short, long]] of Object.entries(given.texts))
          for (const [what, way] of Object.entries(WAYS)) {
            const [first, second] = [time(way, short), time(way, long)];
            if (second > 10 * first + 20) slow.push([name, what, first, second]);
          }
        send(slow);
    """
    short, long = hostile(LENGTH), hostile(4 * LENGTH)
    texts = {name: [short[name], long[name]] for name in short}
    assert run_sources(script, {"markdown": MARKDOWN, "texts": texts}) == []
