import type { Conversation } from '../bank.js'

/** The protocol of Redis, version 2: takes INCRBY for the request that acts. */
export function redis(): Conversation {
  let text = ''
  return {
    hear(bytes, reply) {
      text += bytes.toString('latin1')
      for (;;) {
        const [command, rest] = readCommand(text)
        if (command === undefined) return false
        text = rest
        const name = command[0]?.toUpperCase()
        if (name === 'INCRBY') return true
        reply(Buffer.from(name === 'INFO' ? '$11\r\nloading:0\r\n\r\n' : '+OK\r\n'))
      }
    },
    answers: () => ({
      cut: Buffer.from('$1000\r\nabc'),
      refusal: Buffer.from('-ERR value is not an integer or out of range\r\n'),
    }),
  }
}

/** The first command, if it is whole, and what comes after it. */
function readCommand(text: string): [string[] | undefined, string] {
  let rest = text
  const line = (): string | undefined => {
    const end = rest.indexOf('\r\n')
    if (end < 0) return undefined
    const found = rest.slice(0, end)
    rest = rest.slice(end + 2)
    return found
  }
  const count = line()
  if (count === undefined) return [undefined, text]
  const words: string[] = []
  while (words.length < Number(count.slice(1))) {
    const length = Number(line()?.slice(1) ?? Number.NaN)
    if (!(rest.length >= length + 2)) return [undefined, text]
    words.push(rest.slice(0, length))
    rest = rest.slice(length + 2)
  }
  return [words, rest]
}
