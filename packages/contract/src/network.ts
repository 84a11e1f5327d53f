import { LIMITS } from './limits.js'

/** An IPv4 address as 2 groups of 16 bits or an IPv6 address as 8; the number of groups identifies the family. */
export type Address = readonly number[]

/** All addresses that share their first `bits` bits with `base`. */
export interface Network {
  readonly base: Address
  readonly bits: number
}

function parseIpv4(text: string): Address | null {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9][0-9]{0,2})$/.test(part) && Number(part) <= 255))
    return null
  const [a, b, c, d] = parts.map(Number) as [number, number, number, number]
  return [a * 256 + b, c * 256 + d]
}

/** Returns the groups of one side of `::`; an IPv4 address may replace the last two groups of the whole text. */
function parseGroups(text: string, isLastSide: boolean): readonly number[] | null {
  if (text === '') return []
  const parts = text.split(':')
  const groups: number[] = []
  for (const [index, part] of parts.entries()) {
    const ipv4 = isLastSide && index === parts.length - 1 && part.includes('.') ? parseIpv4(part) : null
    if (ipv4 !== null) groups.push(...ipv4)
    else if (/^[0-9A-Fa-f]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16))
    else return null
  }
  return groups
}

function parseIpv6(text: string): Address | null {
  const sides = text.split('::')
  if (sides.length > 2) return null
  const [head = '', tail] = sides
  const left = parseGroups(head, tail === undefined)
  const right = tail === undefined ? [] : parseGroups(tail, true)
  if (left === null || right === null) return null
  const gap = 8 - left.length - right.length
  if (tail === undefined ? gap !== 0 : gap < 1) return null
  return [...left, ...new Array<number>(gap).fill(0), ...right]
}

function isMappedIpv4(address: Address): boolean {
  return address[5] === 0xffff && address.slice(0, 5).every((group) => group === 0)
}

/**
 * Parses an address; `::ffff:a.b.c.d` is the IPv4 address a.b.c.d. Null for any other text, such as leading zeros, a
 * zone or a port.
 */
export function parseAddress(text: string): Address | null {
  if (text.length > LIMITS.addressLength) return null
  if (!text.includes(':')) return parseIpv4(text)
  const address = parseIpv6(text)
  return address !== null && isMappedIpv4(address) ? address.slice(6) : address
}

/** Parses `address/prefix`. Null for any other text, and for an IPv4 network that is written as IPv6. */
export function parseNetwork(text: string): Network | null {
  const [addressText = '', bitsText = '', ...rest] = text.split('/', 3)
  const base = parseAddress(addressText)
  if (base === null || rest.length > 0 || !/^(0|[1-9][0-9]{0,2})$/.test(bitsText)) return null
  if (base.length === 2 && addressText.includes(':')) return null
  const bits = Number(bitsText)
  return bits <= base.length * 16 ? { base, bits } : null
}

/** Whether an address is in a network; never if the families differ. */
export function isInNetwork(address: Address, { base, bits }: Network): boolean {
  if (address.length !== base.length) return false
  return base.every((group, index) => {
    const free = Math.min(16, Math.max(0, (index + 1) * 16 - bits))
    return address[index]! >>> free === group >>> free
  })
}
