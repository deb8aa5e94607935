"""Recomputes draws without the service: reads JSON lines, answers one line each."""
import hashlib, hmac, json, sys


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


for line in sys.stdin:
    ask = json.loads(line)
    master = bytes.fromhex(ask["master"])
    if ask["model"] == "deck":
        print(json.dumps({"hash": hashlib.sha256(master).hexdigest(), "deck": deck(master, ask["game"], ask["weights"])}))
    else:
        seed = mac(master, f'{ask["game"]}:{ask["player"]}:{ask["n"]}')
        drawn = number(seed, f'{ask["client"]}:{ask["n"]}', ask["limit"])
        print(json.dumps({"seed": seed.hex(), "hash": hashlib.sha256(seed).hexdigest(), "number": drawn}))
