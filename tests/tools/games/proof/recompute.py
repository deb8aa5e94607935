"""Recomputes draws without the service: reads JSON lines, answers one line each."""
import array, hashlib, hmac, itertools, json, sys


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def number(seed, message, limit):
    bits, cursor = (limit - 1).bit_length(), 0
    while True:
        drawn = int.from_bytes(mac(seed, f"{message}:{cursor}")[:8], "big") >> (64 - bits)
        if drawn < limit:
            return drawn
        cursor += 1


def deck(master, game, weights):
    seed = mac(master, f"{game}:deck")
    tickets = [prize for prize, weight in enumerate(weights) for _ in range(weight)]
    for last in range(len(tickets) - 1, 0, -1):
        other = number(seed, f"deck:{last}", last + 1)
        tickets[last], tickets[other] = tickets[other], tickets[last]
    return tickets


def many_plays(master, game, player, limit, plays):
    for n in range(1, plays + 1):
        yield number(mac(master, f"{game}:{player}:{n}"), f"word:{n}", limit)


def many_decks(game, decks):
    for n in range(decks):
        yield from deck(hashlib.sha256(f"deck {n}".encode()).digest(), game, [1] * 10)


def digest(numbers):
    """Of the numbers one after another, each as four bytes."""
    whole = hashlib.sha256()
    while chunk := array.array("I", itertools.islice(numbers, 65536)):
        whole.update(chunk.tobytes())
    return json.dumps({"digest": whole.hexdigest()})


for line in sys.stdin:
    ask = json.loads(line)
    if ask["model"] == "many decks":
        print(digest(many_decks(ask["game"], ask["decks"])))
        continue
    master = bytes.fromhex(ask["master"])
    if ask["model"] == "many plays":
        print(digest(many_plays(master, ask["game"], ask["player"], ask["limit"], ask["plays"])))
    elif ask["model"] == "deck":
        print(json.dumps({"hash": hashlib.sha256(master).hexdigest(), "deck": deck(master, ask["game"], ask["weights"])}))
    else:
        seed = mac(master, f'{ask["game"]}:{ask["player"]}:{ask["n"]}')
        drawn = number(seed, f'{ask["client"]}:{ask["n"]}', ask["limit"])
        print(json.dumps({"seed": seed.hex(), "hash": hashlib.sha256(seed).hexdigest(), "number": drawn}))
