"""The words that the invented visitors of an invented recipe site type into its search box.

Everything here is invented: nothing was taken from a real log or a real person. Telephone numbers
lie in the ranges kept free for fiction (555-01xx, 020 7946 0xxx, 07700 900xxx), mail addresses use
the `example` domains, card numbers are the ones that payment systems publish for testing, and no
social security number begins with 000.
"""

from __future__ import annotations

from typing import NamedTuple


class Family(NamedTuple):
    """Names that are searched for in the same shapes; both are listed from popular to rare.

    `first_place` holds a family back: the larger it is, the later its first name comes.
    """

    first_place: int
    names: tuple[str, ...]
    shapes: tuple[str, ...] = ("{}",)


DINNERS = Family(
    4,
    (
        "carbonara",
        "chicken curry",
        "lasagne",
        "pad thai",
        "tacos",
        "ramen",
        "mushroom risotto",
        "chili con carne",
        "butter chicken",
        "shepherd's pie",
        "fried rice",
        "paella",
        "shakshuka",
        "moussaka",
        "jollof rice",
        "goulash",
        "enchiladas",
        "pierogi",
        "bibimbap",
        "gnocchi",
        "meatballs",
        "tagine",
        "fish pie",
        "falafel",
        "dal",
        "ratatouille",
        "stir fry",
        "quiche",
        "feijoada",
        "rendang",
    ),
    ("{}", "easy {}", "{} recipe", "vegetarian {}", "{} for two", "{} without onion"),
)

BAKES = Family(
    4,
    (
        "banana bread",
        "pancakes",
        "brownies",
        "carrot cake",
        "sourdough",
        "cheesecake",
        "apple pie",
        "focaccia",
        "scones",
        "cinnamon rolls",
        "waffles",
        "lemon drizzle cake",
        "tiramisu",
        "oat cookies",
        "naan",
        "muffins",
        "baklava",
        "plum crumble",
        "pão de queijo",
        "flapjacks",
    ),
    ("{}", "gluten free {}", "{} without eggs", "vegan {}", "quick {}", "{} recipe"),
)

SIDES = Family(
    7,
    (
        "guacamole",
        "hummus",
        "tomato soup",
        "potato salad",
        "coleslaw",
        "gravy",
        "tzatziki",
        "miso soup",
        "kimchi",
        "pico de gallo",
        "chimichurri",
        "vinaigrette",
    ),
    ("{}", "homemade {}", "best {}"),
)

QUESTIONS = Family(
    5,
    (
        "dinner ideas",
        "what to cook tonight",
        "carbonara without cream",
        "cups to grams",
        "egg substitute",
        "chicken thighs",
        "aubergine",
        "air fryer chips",
        "how long to boil an egg",
        "buttermilk substitute",
        "leftover rice",
        "red lentils",
        "halloumi",
        "what is mirin",
        "can you freeze hummus",
        "chickpeas",
        "meal prep for the week",
        "butternut squash",
        "pak choi",
        "tahini",
    ),
)

SLANG = Family(
    5,
    (
        "marry me chicken",
        "smash burger",
        "spag bol",
        "girl dinner",
        "one pot wonder",
        "dump cake",
        "hangover breakfast",
        "cowboy caviar",
        "toad in the hole",
        "brekkie",
        "bubble and squeak",
        "struggle meal",
        "midnight noodles",
        "fakeaway",
        "snacky tea",
        "chip butty",
        "beige buffet",
        "desk lunch that slaps",
    ),
)

ACCENTED = Family(
    10,
    (
        "crème brûlée",
        "jalapeño poppers",
        "crêpes",
        "köttbullar",
        "phở bò",
        "börek",
        "żurek",
        "ñoquis",
        "smörgåstårta",
        "túrógombóc",
    ),
)

# A chart's font may lack these letters. They start late: a chart of the first twenty needs none.
OTHER_SCRIPTS = Family(
    12,
    ("鍋", "味噌汁", "김치찌개", "шарлотка", "حمص", "γεμιστά", "खिचड़ी", "麻婆豆腐"),
)

COMMON_TYPOS = Family(
    14,
    (
        "spagetti bolognese",
        "bannana bread",
        "lasange",
        "brocolli soup",
        "creme brulee",
        "ceasar salad",
        "tirimisu",
        "pankakes",
        "mozarella sticks",
        "zuchini bread",
        "jalapeno poppers",
        "guacomole",
        "cinammon rolls",
        "sheperds pie",
        "parmesean chicken",
        "tumeric latte",
    ),
)

# Each of these looks like a popular query on the screen and is another one by its bytes.
LOOK_ALIKES = Family(
    60,
    (
        "cre\u0300me bru\u0302le\u0301e",  # accents as marks of their own
        "carbonara ",  # a space at the end
        "pad\u00a0thai",  # a space that does not break
        "p\u0430ella",  # a Cyrillic a
        "jalapen\u0303o poppers",
    ),
)

# What is looked for only in part of the sixty days: first and last day, counted from 0.
SEASONS: dict[str, tuple[int, int]] = {
    "pumpkin soup": (0, 35),
    "christmas cookies": (24, 55),
    "mulled wine": (20, 59),
    "pumpkin pie": (0, 29),
    "gingerbread": (22, 54),
    "cranberry sauce": (12, 55),
    "mince pies": (20, 55),
    "thanksgiving stuffing": (12, 27),
    "eggnog": (28, 59),
    "stollen": (25, 54),
    "latkes": (38, 52),
    "roast chestnuts": (5, 50),
    "bûche de noël": (35, 55),
    "quince jelly": (0, 22),
    "roast goose": (8, 55),
    "what to do with leftover turkey": (26, 34),
    "new year's eve canapés": (48, 59),
    "kale and kielbasa stew": (10, 59),
}

FAMILIES = (
    DINNERS,
    BAKES,
    QUESTIONS,
    SLANG,
    SIDES,
    Family(6, tuple(SEASONS)),
    COMMON_TYPOS,
    ACCENTED,
    OTHER_SCRIPTS,
    LOOK_ALIKES,
)

INGREDIENTS = (
    "anchovies",
    "artichokes",
    "barley",
    "beetroot",
    "blue cheese",
    "buckwheat",
    "capers",
    "cardamom",
    "celeriac",
    "chorizo",
    "coconut milk",
    "dates",
    "dill",
    "fennel",
    "figs",
    "goat cheese",
    "hazelnuts",
    "horseradish",
    "jalapeños",
    "kale",
    "lychees",
    "mackerel",
    "okra",
    "paneer",
    "parsnips",
    "pears",
    "plantain",
    "polenta",
    "prunes",
    "quinoa",
    "rhubarb",
    "sauerkraut",
    "swede",
    "tamarind",
    "tofu",
    "yuzu",
)

WAYS = (
    "bake",
    "broth",
    "casserole",
    "chutney",
    "curry",
    "dumplings",
    "fritters",
    "galette",
    "pie",
    "pizza",
    "salad",
    "sandwich",
    "skewers",
    "soup",
    "strudel",
    "tart",
)

RELATIVES = ("abuela", "aunt", "babcia", "dad", "gran", "mum", "nonna", "oma", "uncle", "yiayia")

ODD_SHAPES = (
    "{first} and {second} {way}",
    "{first} {way} with {second}",
    "{first} instead of {second} in {dish}",
    "{dish} with {first} for {number} people",
    "{dish} with {first} like my {relative} makes",
    "{number} kg of {first} and no idea",
    "can i freeze {first} {way}",
)

# One person's tablet pastes this into the box whenever it starts: many rows, one user.
PASTED_BY_ONE_PERSON = "Ottilie Brackwater, 14 Nowhere Lane, Exampleville"

# What must never be published, and how many people typed it.
SENSITIVE: dict[str, int] = {
    PASTED_BY_ONE_PERSON: 1,
    "555-0142": 2,
    "call 202-555-0173 about the wedding cake": 1,
    "text me on 555-0118 when dinner is ready": 1,
    "020 7946 0321": 1,
    "lasagne recipe to 07700 900461 please": 1,
    "Wendell Quillfeather 3 Placeholder Street top bell": 1,
    "Søren Madeupsen, Eksempelvej 7, cake for saturday": 2,
    "oda.fennimore@example.com": 3,
    "send the ramen recipe to bruno.pilchard@example.org": 1,
    "4242 4242 4242 4242 12/34": 1,
    "4111111111111111": 2,
    "5555 5555 5555 4444 groceries": 1,
    "ssn 000-12-3456": 1,
    "can i eat brie i am pregnant and nobody knows yet": 2,
    "dinners for when chemo makes everything taste of metal": 1,
    "low salt meals my kidneys are failing and the kids do not know": 1,
    "christmas punch while on antidepressants": 3,
    "what can i eat with hiv medication": 1,
    "cooking for one since marek left me": 1,
    "Quince-Jam-Example-77!": 1,
    "passw0rd-for-the-demo": 3,
    "login tilda.demo password rhubarb-rhubarb-1": 1,
    "wifi of the cabin is example-guest-2468": 2,
    "surprise party for Ingrid Placeholder she must not know": 3,
}
