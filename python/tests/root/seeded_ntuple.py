"""RNTuples made up from a seed, as C++ that ROOT compiles.

`source` gives the code for some seeds: for each enumerations, classes and a function
``seeded_ntuple_N(writer)``, which declares fields of these and of other types, fills them, and
prints the filled values as lines of JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from .seed import Seed

NUMBERS = (
    *("bool", "char", "std::int8_t", "std::uint8_t", "std::int16_t", "std::uint16_t"),
    *("std::int32_t", "std::uint32_t", "std::int64_t", "std::uint64_t", "float", "double"),
    *("int", "long", "unsigned long", "unsigned short", "signed char", "std::size_t"),
)
KEYS = ("int", "short", "unsigned char", "std::int64_t", "std::string", "float", "unsigned long")
ASSOCIATIVE = ("", "multi", "unordered_", "unordered_multi")
UNDERLYING = (
    *("std::int8_t", "std::uint8_t", "std::int16_t", "std::uint16_t", "std::int32_t"),
    *("std::uint32_t", "std::int64_t", "std::uint64_t"),
)


@dataclass
class Class:
    """One class, with the code that fills its members and the code that prints them."""

    name: str
    bases: list[str] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    fills: list[str] = field(default_factory=list)
    tells: list[str] = field(default_factory=list)
    #: Names and types of its own members.
    own: list[tuple[str, str]] = field(default_factory=list)
    version: int | None = None
    is_streamed: bool = False
    copyable: bool = True
    template: bool = False
    namespace: str = ""

    def code(self) -> str:
        bases = ", ".join(f"public {base}" for base in self.bases)
        name = self.name.split("<")[0].split("::")[-1]
        lines = [f"struct {name}{' : ' if bases else ''}{bases} {{", *self.members]
        lines += ["void fill_seeded(seeded::Random &random) {", "(void)random;", *self.fills, "}"]
        lines += ["void tell_seeded(seeded::Tuple &to) const {", "(void)to;", *self.tells, "}"]
        if self.version is not None:
            lines.append(f"ClassDefNV({name}, {self.version})")
        if self.template:
            lines.insert(0, "template <class Item>")
        lines.append("};")
        if self.namespace:
            lines = [f"namespace {self.namespace} {{", *lines, "}"]
        return "\n".join(lines) + "\n"


class Generator(Seed):
    """The types and fields of one seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.classes: list[Class] = []
        self.enums: list[str] = []
        self.links: list[str] = []

    def number(self) -> str:
        return self.random.choice(NUMBERS)

    def known(self, *, streamed: bool = False) -> Class | None:
        found = [each for each in self.classes if each.copyable and each.is_streamed <= streamed]
        return self.random.choice(found) if found else None

    def type(self, depth: int = 0) -> str:
        """Any type that can be copied."""
        kinds = [*("number",) * 5, "text", "enum", "byte", "bits"]
        if depth < 4:
            kinds += ["vector"] * 4 + ["RVec"] * 2 + ["array"] * 2 + ["set", "map", "map"]
            kinds += ["pair", "tuple", "variant", "variant", "optional", "optional"]
            kinds += ["class"] * 5
        return self.of_kind(self.random.choice(kinds), depth)

    def of_kind(self, kind: str, depth: int) -> str:
        inner = depth + 1
        match kind:
            case "number":
                return self.number()
            case "text":
                return "std::string"
            case "enum":
                return self.random.choice(self.enums)
            case "byte":
                return "std::byte"
            case "bits":
                width = self.random.choice((1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 130))
                return f"std::bitset<{width}>"
            case "vector" | "RVec":
                name = "ROOT::RVec" if kind == "RVec" else "std::vector"
                item = self.type(inner)
                if item.startswith("std::bitset") and kind == "RVec":
                    item = "float"
                return f"{name}<{item}>"
            case "array":
                return f"std::array<{self.type(inner)},{self.random.randint(1, 4)}>"
            case "set":
                name = self.random.choice(
                    ("set", "multiset", "unordered_set", "unordered_multiset")
                )
                return self.linked(f"std::{name}<{self.random.choice(KEYS)}>")
            case "map":
                name = self.random.choice(
                    ("map", "multimap", "unordered_map", "unordered_multimap")
                )
                return self.linked(f"std::{name}<{self.random.choice(KEYS)},{self.type(inner)}>")
            case "pair":
                return f"std::pair<{self.type(inner)},{self.type(inner)}>"
            case "tuple":
                # ROOT itself takes the sizes of other tuples wrong.
                simple = ("number", "number", "text", "vector")
                kinds = [self.random.choice(simple) for _ in range(self.random.randint(1, 4))]
                types = [self.of_kind(kind, inner) for kind in kinds]
                return f"std::tuple<{','.join(types)}>"
            case "variant":
                types = [self.type(inner) for _ in range(self.random.randint(1, 5))]
                # ROOT takes sets, maps and streamed objects for aligned to 16 bytes, and so looks
                # at wrong offsets for the bytes behind a variant in a variant or in an array.
                wrong = ("set<", "map<", f"N{self.seed}C")
                if depth > 0:
                    types = ["float" if any(w in t for w in wrong) else t for t in types]
                return f"std::variant<{','.join(dict.fromkeys(types))}>"
            case "optional":
                item = self.type(inner)
                # ROOT looks at the wrong place for whether one of a variant is there.
                return f"std::optional<{'float' if item.startswith('std::variant') else item}>"
            case _:
                cls = self.known(streamed=True)
                return cls.name if cls else self.number()

    def linked(self, made: str) -> str:
        self.links.append(made)
        return made

    def declare(self, cls: Class, name: str, type_name: str, after: str = "") -> None:
        cls.members.append(f"{type_name} {name}{after}{{}};")
        cls.fills.append(f"seeded::fill({name}, random);")
        cls.tells.append(f'to.key("{name}"); seeded::tell({name}, to.out);')
        if not after:
            cls.own.append((name, type_name))

    def add_member(self, cls: Class) -> None:
        name, kind = self.fresh("m"), self.random.random()
        if kind < 0.62:
            self.declare(cls, name, self.type(1))
        elif kind < 0.72:
            shape = self.random.choice(("[1]", "[2]", "[3]", "[2][2]", "[2][1][3]"))
            # ROOT takes arrays of others for one of these.
            kinds = ("number", "number", "text", "vector", "class", "enum", "map", "byte")
            self.declare(cls, name, self.of_kind(self.random.choice(kinds), 3), shape)
        elif kind < 0.78:
            cls.members.append(f"Double32_t {name} = 0;")
            cls.fills.append(f"seeded::fill_short({name}, random);")
            cls.tells.append(f'to.key("{name}"); seeded::tell({name}, to.out);')
        elif kind < 0.84:
            cls.members.append(f"Double32_t {name}[3] = {{0, 0, 0}};")
            cls.fills.append(f"for (auto &each : {name}) seeded::fill_short(each, random);")
            cls.tells.append(f'to.key("{name}"); seeded::tell({name}, to.out);')
        elif kind < 0.88:
            cls.members.append(f"{self.number()} {name} = 0; //! not in files")
        elif kind < 0.92:
            self.declare(cls, name, f"std::unique_ptr<{self.type(2)}>")
            cls.copyable = False
        elif kind < 0.96:
            item = self.random.choice([each for each in NUMBERS if each != "bool"])
            self.declare(cls, name, f"std::atomic<{item}>")
            cls.copyable = False
        else:
            self.declare(cls, name, self.random.choice(self.enums))

    def add_class(self) -> Class:
        cls = Class(f"N{self.seed}C{len(self.classes)}")
        kind = self.random.random()
        if kind < 0.2:
            cls.namespace = f"space{self.seed}"
            cls.name = f"{cls.namespace}::{cls.name}"
        if kind > 0.85:
            item = self.template_argument()
            cls.template, cls.name = True, f"{cls.name}<{item}>"
            self.links.append(cls.name)
            self.declare(cls, self.fresh("m"), "Item")
            self.declare(cls, self.fresh("m"), "std::vector<Item>")
            cls.own = []
        elif self.chance(0.4):
            cls.version = self.random.randint(1, 9)
        bases = [each for each in self.classes if not each.template and not each.is_streamed]
        if not cls.template:
            for base in self.random.sample(
                bases, min(len(bases), self.random.choice((0, 0, 1, 2)))
            ):
                beside = {name for each in cls.bases for name in self.ancestors(each)}
                if beside & set(self.ancestors(base.name)):
                    continue
                cls.bases.append(base.name)
                cls.copyable = cls.copyable and base.copyable
                cls.fills.append(f"{base.name}::fill_seeded(random);")
                cls.tells.append(f"{base.name}::tell_seeded(to);")
        cls.is_streamed = not cls.template and not cls.bases and self.chance(0.15)
        for _ in range(self.random.choice((0, 1, 2, 3, 4, 6)) if not cls.template else 0):
            if cls.is_streamed:
                self.declare(cls, self.fresh("m"), self.streamable())
            else:
                self.add_member(cls)
        if cls.is_streamed:
            self.links.append(f"options=rntupleStreamerMode(true) {cls.name}")
        self.classes.append(cls)
        return cls

    def streamable(self) -> str:
        """Types that ROOT's streamer writes, too."""
        number = self.random.choice([each for each in NUMBERS if each != "char"])
        kind = self.random.choice(("number", "text", "vector", "nested", "map"))
        if kind == "map":
            return self.linked(f"std::map<{self.random.choice(KEYS)},{number}>")
        if kind == "nested":
            return self.linked(f"std::vector<std::vector<{number}>>")
        return {"number": number, "text": "std::string"}.get(kind, f"std::vector<{number}>")

    def template_argument(self) -> str:
        # ROOT itself cannot write classes with other arguments.
        cls = self.known()
        kinds = [self.number(), "std::string", f"std::vector<{self.number()}>"]
        return self.random.choice([*kinds, cls.name] if cls else kinds)

    def ancestors(self, name: str) -> list[str]:
        cls = next(each for each in self.classes if each.name == name)
        return [name, *(above for base in cls.bases for above in self.ancestors(base))]

    def code(self) -> str:
        enums = ""
        for underlying in self.random.sample(UNDERLYING, 4):
            name = f"E{self.seed}_{len(self.enums)}"
            self.enums.append(name)
            scoped = "class " if self.chance(0.5) else ""
            values = ", ".join(f"k{name}_{n}" for n in range(3))
            enums += f"enum {scoped}{name} : {underlying} {{ {values} }};\n"
        for _ in range(self.random.randint(2, 6)):
            self.add_class()
        body = self.fields()
        lines = []
        for each in dict.fromkeys(self.links):
            options, _, name = each.rpartition(") ")
            options = f"{options}) " if options else ""
            lines.append(f"#pragma link C++ {options}class {name}+;\n")
        classes = "\n".join(each.code() for each in self.classes)
        return (
            f"{enums}{classes}\n#ifdef __CLING__\n{''.join(lines)}#endif\n"
            f"void seeded_ntuple_{self.seed}(seeded::NtupleWriter &writer) {{\n"
            f"auto &random = writer.random;\n{body}}}\n"
        )

    def fields(self) -> str:
        """Declares the fields, then fills and tells them entry by entry."""
        first: list[tuple[str, str]] = []
        late: list[tuple[str, str]] = []
        for name, type_name in self.top_fields():
            (late if self.chance(0.2) else first).append((name, type_name))
        declare = [f'writer.field("{name}", "{kind}");' for name, kind in first]
        declare += self.projections(first)
        declare.append("writer.open();")
        add = [f'{{"{name}", "{kind}"}},' for name, kind in late]
        get = [f'{name} = writer.get<{kind}>("{name}");' for name, kind in [*first, *late]]
        declare += [f"std::shared_ptr<{kind}> {name};" for name, kind in [*first, *late]]
        loop = ["if (entry == writer.options.late)", f"writer.extend({{{''.join(add)}}});"]
        loop += ["if (entry == 0 || entry == writer.options.late) {", *get, "}"]
        loop += ["seeded::Out out;", "{ seeded::Tuple to(out, '{');"]
        for name, _ in [*first, *late]:
            loop.append(f"if ({name}) {{ seeded::fill(*{name}, random);")
            loop.append(f'to.key("{name}"); seeded::tell(*{name}, out); }}')
        lines = [*declare, "for (int entry = 0; entry < writer.options.entries; entry++) {", *loop]
        lines += ["out += '}'; }", "writer.entry(out, entry);", "}", "writer.end();"]
        return "".join(f"  {line}\n" for line in lines)

    def top_fields(self) -> list[tuple[str, str]]:
        kinds = [self.type() for _ in range(self.random.randint(3, 10))]
        for cls in self.classes:
            if self.chance(0.5):
                kinds.append(cls.name)
            if cls.copyable and self.chance(0.4):
                kinds.append(f"std::vector<{cls.name}>")
        if self.chance(0.4):
            kinds.append(f"std::vector<std::unique_ptr<{self.type(2)}>>")
        if self.chance(0.3):
            kinds.append(f"std::atomic<{self.random.choice(('float', 'std::int16_t', 'bool'))}>")
        return [(self.fresh("f"), kind) for kind in kinds]

    def projections(self, fields: list[tuple[str, str]]) -> list[str]:
        """Projected fields, and their sources, for the comparison."""
        made = []
        for name, kind in fields:
            is_list = kind.startswith(("std::vector<", "ROOT::RVec<", "std::map", "std::set"))
            if is_list and self.chance(0.4):
                size = self.random.choice(("32", "64"))
                own, of = self.fresh("n"), f"ROOT::RNTupleCardinality<std::uint{size}_t>"
                made.append((own, of, {own: name}, ["count", name]))
            item = kind.removeprefix("std::vector<").removesuffix(">")
            found = [each for each in self.classes if each.name == item and not each.is_streamed]
            if is_list and found:
                for member, of in found[0].own:
                    if of in NUMBERS and self.chance(0.6):
                        own = self.fresh("p")
                        mapping = {own: name, f"{own}._0": f"{name}._0.{member}"}
                        what = ["member", name, member]
                        made.append((own, f"std::vector<{of}>", mapping, what))
            if kind in NUMBERS and self.chance(0.4):
                own = self.fresh("p")
                made.append((own, kind, {own: name}, ["same", name]))
        lines = []
        for own, kind, mapping, what in made:
            pairs = "".join(f'{{"{a}", "{b}"}},' for a, b in mapping.items())
            told = json.dumps(json.dumps({own: what}))
            lines.append(f'writer.project("{own}", "{kind}", {{{pairs}}}, {told});')
        return lines


def source(seeds: list[int]) -> str:
    """Code for some seeds, behind the header that it needs."""
    return '#include "seeded_ntuple.h"\n' + "\n".join(Generator(seed).code() for seed in seeds)
