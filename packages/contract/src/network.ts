/** An IP address as the number that it is. */
export interface Address {
  readonly family: 4 | 6
  readonly bits: bigint
}

/** All addresses that share the first `prefix` bits with `bits`. */
export interface Network extends Address {
  readonly prefix: number
}

const MAPPED_IPV4 = 0xffffn

function parseIpv4(text: string): bigint | null {
  const parts = text.split('.')
  if (parts.length !== 4) return null
  let bits = 0n
  for (const part of parts) {
    if (!/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return null
    bits = (bits << 8n) | BigInt(part)
  }
  return bits
}

/** The 16-bit groups of one side of `::`; an IPv4 address may stand for the last two of the whole text. */
function parseGroups(text: string, isLast: boolean): bigint[] | null {
  if (text === '') return []
  const groups: bigint[] = []
  const parts = text.split(':')
  for (const [index, part] of parts.entries()) {
    if (isLast && index === parts.length - 1 && part.includes('.')) {
      const ipv4 = parseIpv4(part)
      if (ipv4 === null) return null
      groups.push(ipv4 >> 16n, ipv4 & 0xffffn)
    } else {
      if (!/^[0-9A-Fa-f]{1,4}$/.test(part)) return null
      groups.push(BigInt(`0x${part}`))
    }
  }
  return groups
}

function parseIpv6(text: string): bigint | null {
  const sides = text.split('::')
  if (sides.length > 2) return null
  const [head = '', tail] = sides
  const left = parseGroups(head, tail === undefined)
  const right = tail === undefined ? [] : parseGroups(tail, true)
  if (left === null || right === null) return null
  const gap = 8 - left.length - right.length
  if (tail === undefined ? gap !== 0 : gap < 1) return null
  return [...left, ...new Array<bigint>(gap).fill(0n), ...right].reduce((bits, group) => (bits << 16n) | group, 0n)
}

/** Reads an address; `::ffff:a.b.c.d` is the IPv4 address a.b.c.d. Null for a text that is none (leading zeros, a zone). */
export function parseAddress(text: string): Address | null {
  // The longest IPv6 text has 45 characters; nothing longer is worth taking apart.
  if (text.length > 45) return null
  if (!text.includes(':')) {
    const bits = parseIpv4(text)
    return bits === null ? null : { family: 4, bits }
  }
  const bits = parseIpv6(text)
  if (bits === null) return null
  return bits >> 32n === MAPPED_IPV4 ? { family: 4, bits: bits & 0xffffffffn } : { family: 6, bits }
}

/** Reads `address/prefix`. Null for a text that is none, and for an IPv4 network written as IPv6. */
export function parseNetwork(text: string): Network | null {
  const slash = text.indexOf('/')
  const prefixText = text.slice(slash + 1)
  if (slash < 0 || !/^(0|[1-9]\d{0,2})$/.test(prefixText)) return null
  const addressText = text.slice(0, slash)
  const address = parseAddress(addressText)
  if (address === null || (address.family === 4 && addressText.includes(':'))) return null
  const prefix = Number(prefixText)
  return prefix <= (address.family === 4 ? 32 : 128) ? { ...address, prefix } : null
}

/** Whether an address lies in a network; never in one of the other family. */
export function isInNetwork(address: Address, network: Network): boolean {
  const hostBits = BigInt((network.family === 4 ? 32 : 128) - network.prefix)
  return address.family === network.family && address.bits >> hostBits === network.bits >> hostBits
}
