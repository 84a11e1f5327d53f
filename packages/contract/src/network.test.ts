import { BlockList, isIP } from 'node:net'
import { isInNetwork, parseAddress, parseNetwork } from '@countersign/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

describe('parseAddress', () => {
  it.each([
    ['10.0.0.1', [0x0a00, 1]],
    ['0.0.0.0', [0, 0]],
    ['255.255.255.255', [0xffff, 0xffff]],
    ['::', [0, 0, 0, 0, 0, 0, 0, 0]],
    ['::1', [0, 0, 0, 0, 0, 0, 0, 1]],
    ['2001:DB8::a', [0x2001, 0xdb8, 0, 0, 0, 0, 0, 10]],
    ['1:2:3:4:5:6:7:8', [1, 2, 3, 4, 5, 6, 7, 8]],
    ['1:2:3:4:5:6:7::', [1, 2, 3, 4, 5, 6, 7, 0]],
    ['64:ff9b::10.0.0.1', [0x64, 0xff9b, 0, 0, 0, 0, 0x0a00, 1]],
    ['::ffff:10.0.0.1', [0x0a00, 1]],
    ['::FFFF:a00:1', [0x0a00, 1]],
    ['0:0:0:0:0:ffff:10.0.0.1', [0x0a00, 1]],
  ])('reads %s', (text, address) => {
    expect(parseAddress(text)).toEqual(address)
  })

  it.each(['', '1', '1.2.3', '1.2.3.4.5', '01.2.3.4', '1.2.3.256', '1.2.3.-4', '1.2.3.4 ', '0x7f.0.0.1', '1..2.3'])(
    'refuses %j as IPv4',
    (text) => expect(parseAddress(text)).toBeNull(),
  )

  it.each([
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7::8',
    '12345::',
    'g::',
    'fe80::1%eth0',
    '[::1]',
    '::1.2.3',
    '::1.2.3.04',
    '1.2.3.4::',
    '::1.2.3.4:5',
    ':1:2:3:4:5:6:7',
  ])('refuses %j as IPv6', (text) => expect(parseAddress(text)).toBeNull())

  it('takes what the platform takes, without a zone', () => {
    const text = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.string({ unit: fc.constantFrom(':', '.', '0', '1', 'f', '25'), maxLength: 20 }),
    )
    fc.assert(
      fc.property(text, (any) => {
        expect(parseAddress(any) !== null).toBe(isIP(any) !== 0)
      }),
      { numRuns: 3000 },
    )
  })
})

describe('parseNetwork', () => {
  it.each(['10.0.0.0/8', '10.1.2.3/8', '0.0.0.0/0', '1.2.3.4/32', '::/0', '::1/128', '2001:db8::/32', '::1.2.3.4/96'])(
    'reads %s',
    (text) => expect(parseNetwork(text)).not.toBeNull(),
  )

  it.each([
    '',
    '/',
    '10.0.0.0',
    '10.0.0.0/',
    '/8',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/+8',
    '10.0.0.0/8/8',
    '10.0.0.0/ 8',
    '10.0.0.0/255.0.0.0',
    '10.0.0/8',
    '::ffff:10.0.0.0/8',
    '::ffff:10.0.0.0/104',
    '::ffff:a00:0/104',
  ])('refuses %j', (text) => expect(parseNetwork(text)).toBeNull())
})

describe('isInNetwork', () => {
  it('agrees with the platform on addresses of the same family', () => {
    const near = (bits: number) => fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(bits))
    fc.assert(
      fc.property(near(32), fc.nat(31), ([a, b, c, d, bits], flipped) => {
        const base = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
        const other = (base ^ (1 << flipped)) >>> 0
        const text = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.')
        const network = parseNetwork(`${text(base)}/${bits}`)!
        const oracle = new BlockList()
        oracle.addSubnet(text(base), bits)
        for (const value of [base, other])
          expect(isInNetwork(parseAddress(text(value))!, network)).toBe(oracle.check(text(value)))
      }),
      { numRuns: 2000 },
    )
  })

  it.each([
    ['2001:db8::1', '2001:db8::/32', true],
    ['2001:db9::1', '2001:db8::/32', false],
    ['2001:db8:0:7fff::', '2001:db8::/49', true],
    ['2001:db8:0:8000::', '2001:db8::/48', true],
    ['2001:db8:0:8000::', '2001:db8::/49', false],
    ['2001:db8:0:8000::', '2001:db8::/128', false],
    ['2001:db8:8000::', '2001:db8::/33', false],
    ['::ffff:10.1.2.3', '10.0.0.0/8', true],
    ['10.1.2.3', '::/0', false],
    ['::1', '0.0.0.0/0', false],
  ])('%s in %s: %s', (address, network, expected) => {
    expect(isInNetwork(parseAddress(address)!, parseNetwork(network)!)).toBe(expected)
  })
})
