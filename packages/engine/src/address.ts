/** An IPv4 address as 2 groups of 16 bits or an IPv6 address as 8; the number of groups tells the family. */
export type Address = readonly number[]

/** A range of addresses: those that share the first `bits` bits with `base`. */
export interface Network {
  readonly base: Address
  readonly bits: number
}

/** The address in a text, or null when it is none: leading zeros in IPv4, zones and ports are refused. `::ffff:a.b.c.d` is IPv4. */
export function parseAddress(text: string): Address | null {
  if (!text.includes(':')) return parseIpv4(text)
  const address = parseIpv6(text)
  const isMapped = address !== null && address[5] === 0xffff && address.slice(0, 5).every((group) => group === 0)
  return isMapped ? address.slice(6) : address
}

/** The network in `address/prefix`, as validated by the contract package. */
export function parseNetwork(text: string): Network {
  const slash = text.indexOf('/')
  const base = parseAddress(text.slice(0, slash))
  if (slash === -1 || base === null) throw new TypeError(`${text} is not a network`)
  return { base, bits: Number(text.slice(slash + 1)) }
}

/** Whether the address lies in the network. An address of the other family does not. */
export function isInNetwork(address: Address, network: Network): boolean {
  const { base, bits } = network
  if (address.length !== base.length) return false
  for (let group = 0; group * 16 < bits; group += 1) {
    const free = Math.max(0, (group + 1) * 16 - bits)
    if ((address[group] as number) >>> free !== (base[group] as number) >>> free) return false
  }
  return true
}

function parseIpv4(text: string): Address | null {
  const parts = text.split('.', 5)
  if (parts.length !== 4 || text.length > 15) return null
  if (!parts.every((part) => /^(0|[1-9][0-9]{0,2})$/.test(part) && Number(part) <= 255)) return null
  const [a, b, c, d] = parts.map(Number) as [number, number, number, number]
  return [a * 256 + b, c * 256 + d]
}

function parseIpv6(text: string): Address | null {
  // The longest form is eight groups with a dotted tail, 45 characters: nothing longer is worth splitting.
  if (text.length > 45) return null
  const halves = text.split('::')
  if (halves.length > 2) return null
  const isShort = halves.length === 2
  const head = parseGroups(halves[0] as string, !isShort)
  const tail = isShort ? parseGroups(halves[1] as string, true) : []
  if (head === null || tail === null) return null
  const missing = 8 - head.length - tail.length
  if (isShort ? missing < 1 : missing !== 0) return null
  return [...head, ...new Array<number>(missing).fill(0), ...tail]
}

function parseGroups(text: string, mayEndDotted: boolean): number[] | null {
  if (text === '') return []
  const parts = text.split(':')
  const groups: number[] = []
  for (const [index, part] of parts.entries()) {
    const dotted = mayEndDotted && index === parts.length - 1 && part.includes('.') ? parseIpv4(part) : null
    if (dotted !== null) groups.push(...dotted)
    else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16))
    else return null
  }
  return groups
}
