"""Find the persons of one list in another, in spite of typing errors and missing values."""

import mdhnp

patients = {
    "forename": ["Ada", "Alan", "Grace", "Edsger", ""],
    "surname": ["Lovelace", "Turing", "Hoper", "Dijkstra", "Hamilton"],
    "born": ["1815-12-10", "1912-06-23", "1906-12-09", "", "1936-08-17"],
    "town": ["London", "Wilmslow", "Arlington", "Nuenen", "Boston"],
}
registry = {
    "forename": ["Alan", "Margaret", "Grace", "Ada", "Barbara"],
    "surname": ["Turing", "Hamilton", "Hopper", "Lovelace", "Liskov"],
    "born": ["1912-06-23", "1936-08-17", "1906-12-09", "1815-12-10", "1939-11-07"],
    "town": ["Wilmslow", "Boston", "Arlington", "London", "Boston"],
}

# m: how often a field agrees in two records of one person. u: how often it agrees by chance; with so few records it
# is given here, with many it may be left to the values' frequencies.
links = mdhnp.prl(
    patients,
    registry,
    m={"forename": 0.975, "surname": 0.975, "born": 0.99, "town": 0.9},
    u={"forename": 0.005, "surname": 0.001, "born": 0.0001, "town": {"London": 0.1, "Boston": 0.01}},
    default_u=0.002,
    thresholds=(0, 15),
)

for n, (index, weight, status) in enumerate(zip(*links, strict=True)):
    person = f"{patients['forename'][n]} {patients['surname'][n]}".strip()
    other = f"{registry['forename'][index]} {registry['surname'][index]}"
    print(
        f"{person:16} {('no match', 'possible', 'match')[status]:9} {weight:6.1f}  {other if status else ''}".rstrip()
    )
