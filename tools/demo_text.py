"""Makes the text that the demo model reads: tales of a walk along one road, the same for the same seed.

A tale rewards both place and memory. All walkers take the same road at the same pace, so the hour, the
chapters, the scenery and what one speaks of follow from how far along the tale is. What came up before
comes up again, the more recent the likelier. And people get secret words, things get owners and the song
gets verses at the top, which later sentences ask for. A longer tale of a seed begins with the shorter one,
so that the start of a document looks the same whatever the context.

    python tools/demo_text.py --seed 1 --characters 3000     prints one
"""

import argparse
import random

PEOPLE = "Ada Bruno Clara Dario Edith Felix Greta Hugo Irma Jonas Karla Linus Marta Nils Olga Pavel".split()
THINGS = "lantern kettle ladder basket anchor mirror hammer candle blanket compass barrel whistle".split()
SYLLABLES = "ka lo mi ru te va so ni pe du".split()
HOURS = (
    "at dawn; at sunrise; early on; at breakfast; in the morning; before noon; at noon; after lunch; in the "
    "afternoon; at tea; before dusk; at sunset; in the evening; at supper; by candlelight; late at night; at midnight"
).split("; ")
# What one sees along the road, in order: from the sea over the plain and the woods to the mountains.
SCENERY = (
    "wave gull shell pier boat net sand crab dune reed heron marsh frog ditch willow duck mill pond goose meadow "
    "cow fence barn hay cart wheat poppy lark field plough well farm hen orchard bee hedge rabbit lane oak owl fern "
    "deer log moss fox pine stump hill goat thorn stream boulder cliff eagle slope cave ridge snow ice peak"
).split()
# What tales speak of, in the order in which the road brings it up.
NOUNS = (
    "man road house king ship day child friend wind door dog horse fire bread letter garden window tree stone river "
    "star song story book bell crown coat key storm sail rope table bed street town market coin doctor soldier teacher "
    "baker sailor judge thief sword castle needle thread button oven drum flute planet comet prison witness ribbon "
    "anvil hinge purse debt banner knight lesson pencil chalk fever bandage medicine stamp ink seal"
).split()
ADJECTIVES = (
    "old small good dark long quiet green cold red young strange happy tired golden heavy broken silver wild clever "
    "hungry gentle proud hollow crooked rusty patient curious bitter"
).split()
ACTIONS = (
    "saw found knew took liked heard left followed wanted lost sold bought carried hid remembered feared painted "
    "mended praised forgot measured stole watched counted"
).split()
STATES = "slept waited laughed walked sang stood worked danced cried listened rested whispered trembled returned".split()
MANNERS = "slowly again alone softly together often gladly twice badly quickly proudly forever".split()
NEAR = "near by behind under beyond beside".split()
SENTENCES_PER_HOUR = 9
SENTENCES_PER_CHAPTER = 30
SENTENCES_TO_THE_END = 150

# How often each kind of sentence comes, by training stage: later stages ask more of what was said long ago.
MIXES = {
    "stage1": dict(tell=24, take=2, now=1, first=1, word=2, sing=1, repeat=1),
    "stage2": dict(tell=20, take=2, now=2, first=2, word=2, sing=2, repeat=1),
    "stage3": dict(tell=16, take=2, now=3, first=3, word=3, sing=2, repeat=1),
    "long": dict(tell=16, take=2, now=3, first=3, word=3, sing=2, repeat=1),
}


class Tale:
    """The state of one walk while its tale is told."""

    def __init__(self, seed: int, mix: str):
        self.random = random.Random(seed)
        self.kinds, self.kind_weights = zip(*MIXES[mix].items())
        self.people = self.random.sample(PEOPLE, 4)
        self.words = {person: "".join(self.random.choices(SYLLABLES, k=3)) for person in self.people}
        self.things = self.random.sample(THINGS, 4)
        self.first_owner = {thing: self.random.choice(self.people) for thing in self.things}
        self.owner = dict(self.first_owner)
        self.song = [" ".join(self.random.choices(NOUNS, k=5)) for _ in range(3)]
        self.verse = 0
        self.told = 0  # sentences so far
        self.history = {}  # words already used, by list

    def draw(self, words):
        """A word that came up before, the later the likelier, or one that belongs to this part of the road."""
        history = self.history.setdefault(id(words), [])
        if history and self.chance(0.5):
            word = history[-1 - int(len(history) * self.random.random() ** 2)]
        else:
            word = self.along(words)
        history.append(word)
        return word

    def person(self):
        return self.random.choice(self.people)

    def thing(self):
        return self.random.choice(self.things)

    def chance(self, probability):
        return self.random.random() < probability

    def along(self, words):
        """A word of the list, which is in the order of the road, from about where the tale is."""
        centre = len(words) * self.told / SENTENCES_TO_THE_END
        index = round(self.random.gauss(centre, 0.04 * len(words)))
        return words[min(max(index, 0), len(words) - 1)]

    def view(self):
        return self.along(SCENERY)

    def someone(self, besides=None):
        if self.chance(0.4):
            person = self.person()
            return person if person != besides else "nobody"
        noun = self.view() if self.chance(0.3) else self.draw(NOUNS)
        named = f"{self.draw(ADJECTIVES)} {noun}" if self.chance(0.4) else noun
        if self.chance(0.7):
            return f"the {named}"
        return f"an {named}" if named[0] in "aeiou" else f"a {named}"

    def clause(self):
        subject = self.someone()
        if self.chance(0.5):
            text = f"{subject} {self.draw(ACTIONS)} {self.someone(besides=subject)}"
        elif self.chance(0.3):
            text = f"{subject} was {self.draw(ADJECTIVES)}"
        else:
            text = f"{subject} {self.draw(STATES)}"
            if self.chance(0.4):
                text += " " + self.draw(MANNERS)
        if self.chance(0.4):
            text += f" {self.draw(NEAR)} the {self.view()}"
        return text

    def tell(self):
        text = self.clause()
        while self.chance(0.35):
            text += self.random.choice([" and ", ", but ", " when ", " because "]) + self.clause()
        return text

    def take(self):
        thing = self.thing()
        giver = self.owner[thing]
        taker = self.owner[thing] = self.random.choice([person for person in self.people if person != giver])
        return f"{taker} took the {thing} from {giver}"

    def now(self):
        thing = self.thing()
        return f"who has the {thing} now? {self.owner[thing]}"

    def first(self):
        thing = self.thing()
        return f"who had the {thing} first? {self.first_owner[thing]}"

    def word(self):
        person = self.person()
        return f"{person} said the word {self.words[person]}"

    def sing(self):
        verse = self.song[self.verse % len(self.song)]
        self.verse += 1
        return f"they sang: {verse}"

    def repeat(self):
        text = " ".join(self.draw(NOUNS) for _ in range(self.random.randint(3, 6)))
        return f"{self.person()} read: {text}, and {self.person()} repeated: {text}"

    def pieces(self):
        """The tale, piece by piece."""
        yield "A tale of the road from the sea to the mountains.\n"
        for person in self.people:
            yield f"{person} has the word {self.words[person]}. "
        for thing in self.things:
            yield f"{self.owner[thing]} has the {thing}. "
        yield "The song: " + " / ".join(self.song) + "."
        while True:
            if self.told % SENTENCES_PER_CHAPTER == 0:
                yield f"\n\nChapter {self.told // SENTENCES_PER_CHAPTER + 1}.\n"
            elif self.chance(0.2):
                yield "\n"
            else:
                yield " "
            text = getattr(self, self.random.choices(self.kinds, self.kind_weights)[0])()
            if self.chance(0.25):
                text = HOURS[min(self.told // SENTENCES_PER_HOUR, len(HOURS) - 1)] + " " + text
            yield text[0].upper() + text[1:] + "."
            self.told += 1


def document(seed: int, characters: int, mix: str = "long") -> str:
    """A tale cut at the first end of a sentence past `characters`."""
    pieces, length = [], 0
    for piece in Tale(seed, mix).pieces():
        pieces.append(piece)
        length += len(piece)
        if length >= characters and piece.endswith("."):
            return "".join(pieces) + "\n"


def main():
    arguments = argparse.ArgumentParser(description="Prints one document of the demo's text.")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--characters", type=int, default=3000)
    arguments.add_argument("--mix", choices=MIXES, default="long")
    chosen = arguments.parse_args()
    print(document(chosen.seed, chosen.characters, chosen.mix), end="")


if __name__ == "__main__":
    main()
