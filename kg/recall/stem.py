"""What an English word is for a search: its stem, and of an irregular form the regular one.

The stem is Porter's ("An algorithm for suffix stripping", Program 14(3), 1980), as SQLite's
own tokenizer has it, so a test compares the two over real words. On LoCoMo it is worth 3
points of any-gold@5 over no stemming, and the irregular forms 1.4 more (turn level;
scripts/bench/retrieval). Words of other scripts, and with digits, stay as they are.

On the hot path: imports nothing.
"""

from __future__ import annotations

_CACHED = 50_000  # words; a store's vocabulary repeats itself, and the cache is bounded

# The irregular verbs and plurals of everyday English, each group led by its plain form.
_FORMS = """
arise arose arisen|awake awoke awoken|beat beaten|become became|begin began begun|bend bent
bite bit bitten|blow blew blown|break broke broken|bring brought|build built|burn burnt
buy bought|catch caught|child children|choose chose chosen|come came|creep crept|crisis crises
deal dealt|do does did done|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven
eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found|fly flew flown
foot feet|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven
freeze froze frozen|get got gotten|give gave given|go goes went gone|good better best
grow grew grown|hang hung|have had|hear heard|hide hid hidden|hold held|index indices
keep kept|knife knives|know knew known|lead led|leaf leaves|learn learnt|leave left|lend lent
lie lain|life lives|light lit|lose lost|make made|man men|matrix matrices|mean meant|meet met
mouse mice|pay paid|person people|ride rode ridden|ring rang rung|rise rose risen|run ran
say said|see seen saw|seek sought|self selves|sell sold|send sent|shake shook shaken|shoot shot
sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|speak spoke spoken|spend spent
stand stood|steal stole stolen|stick stuck|strike struck|swear swore sworn|sweep swept
swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought
throw threw thrown|tooth teeth|understand understood|vertex vertices|wake woke woken
wear wore worn|weep wept|wife wives|win won|woman women|write wrote written
"""
_SECOND = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("logi", "log"), ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"),
    ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"),
    ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_THIRD = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"),
    ("ful", ""), ("ness", ""),
)  # fmt: skip
_FOURTH = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion", "al", "er", "ic", "ou",
)  # fmt: skip
_PLAIN = {
    form: group.split()[0]
    for line in _FORMS.strip().split("\n")
    for group in line.split("|")
    for form in group.split()[1:]
}
_stems: dict[str, str] = {}


def stem(word: str) -> str:
    """Return the stem of a word that is folded already."""
    found = _stems.get(word)
    if found is None:
        if len(_stems) >= _CACHED:
            _stems.clear()
        plain = _PLAIN.get(word, word)
        found = _stems[word] = _porter(plain) if _english(plain) else plain
    return found


def _english(word: str) -> bool:
    return 2 < len(word) < 40 and word.isascii() and word.isalpha()


def _porter(word: str) -> str:
    word = _past(_plural(word))
    if word[-1] == "y" and _vowel_in(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _SECOND), _THIRD)
    for suffix in _FOURTH:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            if _measure(rest) > 1 and (suffix != "ion" or rest[-1] in "st"):
                word = rest
            break
    if word[-1] == "e":
        rest, much = word[:-1], _measure(word[:-1])
        if much > 1 or (much == 1 and not _short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _plural(word: str) -> str:
    if len(word) > 3 and word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word[-1] == "s" and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    cut = 2 if word.endswith("ed") else 3 if word.endswith("ing") else 0
    if not cut or not _vowel_in(word[:-cut]):
        return word
    word = word[:-cut]
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    shape = _shape(word)
    if len(word) > 1 and word[-1] == word[-2] and shape[-1] == "c" and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _short(word) else word


def _replaced(word: str, table: tuple[tuple[str, str], ...]) -> str:
    for suffix, instead in table:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + instead if _measure(rest) else word
    return word


def _shape(word: str) -> str:
    """Return a letter for each letter: v where it is a vowel, c where not; y is either."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Return how often a consonant follows a vowel: Porter's m."""
    return _shape(word).count("vc")


def _vowel_in(word: str) -> bool:
    return "v" in _shape(word)


def _short(word: str) -> bool:
    """Whether it ends consonant, vowel, consonant, the last none of w, x, y: Porter's *o."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"
