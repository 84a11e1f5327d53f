import { BlockList, isIP } from 'node:net'
import { seededRandom } from '@countersign/testkit'
import { describe, expect, it } from 'vitest'
import { faultOfWebhookUrl, isPublicAddress } from './webhook-url.js'

const PUBLIC_ONLY = { allowsPrivate: false }
const ANY = { allowsPrivate: true }

const ALLOWED = [
  'https://example.com/countersign',
  'https://example.com',
  'https://example.com:443/hook?token=a%20b',
  'https://example.com:8443/',
  'https://hooks.example.com./path',
  'https://bücher.example/hook',
  'https://8.8.8.8/hook',
  'https://[2606:4700:4700::1111]/hook',
  'https://[64:ff9b::8.8.8.8]/hook',
  'https://[::ffff:8.8.8.8]/hook',
  'https://localhost.example.com/',
  'https://example.com/@path',
]

/** What no setting allows. */
const NEVER: readonly (readonly [url: string, fault: string])[] = [
  ['', 'must be a URL'],
  ['example.com/hook', 'must be a URL'],
  ['//example.com/hook', 'must be a URL'],
  ['https://', 'must be a URL'],
  ['https://exa mple.com/', 'white space'],
  ['https://example.com:99999/', 'must be a URL'],
  ['https://[::1', 'must be a URL'],
  ['https://[fe80::1%25eth0]/', 'must be a URL'],
  ['https://1.2.3.4.5/', 'must be a URL'],
  ['https://256.256.256.256/', 'must be a URL'],
  ['https://0x100000000/', 'must be a URL'],
  ['ftp://example.com/', 'URL'],
  ['file:///etc/passwd', 'URL'],
  ['gopher://example.com/', 'URL'],
  ['javascript:alert(1)', 'URL'],
  ['data:text/plain,a', 'URL'],
  ['ws://example.com/', 'URL'],
  ['https://user@example.com/', 'user name'],
  ['https://user:password@example.com/', 'user name'],
  ['https://:@example.com/', 'user name'],
  ['https:user:password@example.com/', 'begin with https://'],
  ['https:/user:password@example.com/', 'begin with https://'],
  ['https:///user:password@example.com/', 'begin with https://'],
  ['https:example.com/', 'begin with https://'],
  ['https://example.com@127.0.0.1/', 'user name'],
  ['https://example.com%40127.0.0.1/', 'must be a URL'],
  ['https://example.com/#part', 'fragment'],
  ['https://example.com/#', 'fragment'],
  ['https://example.com\\@127.0.0.1/', 'backslash'],
  ['https:\\\\127.0.0.1/', 'backslash'],
  ['https://exam\tple.com/', 'white space'],
  [' https://example.com/', 'white space'],
  ['https://example.com/\n', 'white space'],
  ['https://example.com/\u0000', 'control'],
  ['https://exa\u202emple.com/', 'control'],
  [`https://example.com/${'a'.repeat(2029)}`, 'at most 2048'],
]

/** What only WEBHOOK_ALLOW_PRIVATE allows. */
const PRIVATE = [
  'http://example.com/',
  'https://example.com:80/',
  'https://example.com:22/',
  'https://example.com:8080/',
  'https://example.com:6379/',
  'https://localhost/',
  'https://LOCALHOST/',
  'https://localhost./',
  'https://localhost../',
  'https://api.localhost/',
  'https://a.b.localhost./',
  'https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/',
  'https://loc%61lhost/',
  'https://127.0.0.1/',
  'https://127.0.0.1./',
  'https://127.1/',
  'https://127.255.255.254/',
  'https://0x7f.1/',
  'https://0x7f000001/',
  'https://0X7F.0X0.0X0.0X1/',
  'https://2130706433/',
  'https://017700000001/',
  'https://0177.0.0.1/',
  'https://①②⑦.⓪.⓪.①/',
  'https://127。0。0。1/',
  'https://%31%32%37.0.0.1/',
  'https://0/',
  'https://0.0.0.0/',
  'https://10.0.0.1/',
  'https://10.255.255.255/',
  'https://100.64.0.1/',
  'https://100.100.100.200/latest/meta-data/',
  'https://169.254.169.254/latest/meta-data/',
  'https://0xa9fea9fe/',
  'https://2852039166/',
  'https://168.63.129.16/',
  'https://172.16.0.1/',
  'https://172.31.255.255/',
  'https://192.0.0.192/',
  'https://192.0.2.1/',
  'https://192.88.99.1/',
  'https://192.168.1.1/',
  'https://198.18.0.1/',
  'https://198.51.100.1/',
  'https://203.0.113.1/',
  'https://224.0.0.1/',
  'https://239.255.255.250/',
  'https://255.255.255.255/',
  'https://[::]/',
  'https://[::1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[::127.0.0.1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[0:0:0:0:0:ffff:a9fe:a9fe]/',
  'https://[::ffff:10.0.0.1]/',
  'https://[64:ff9b::127.0.0.1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[64:ff9b::a00:1]/',
  'https://[64:ff9b::a9fe:a9fe]/',
  'https://[64:ff9b:1::8.8.8.8]/',
  'https://[100::1]/',
  'https://[2001::1]/',
  'https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
  'https://[2001:db8::1]/',
  'https://[2002:7f00:1::]/',
  'https://[2002:a9fe:a9fe::1]/',
  'https://[3fff::1]/',
  'https://[5f00::1]/',
  'https://[fc00::1]/',
  'https://[fd00:ec2::254]/',
  'https://[4000::1]/',
  'https://[::ffff:0:127.0.0.1]/',
  'https://[fe80::1]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
]

describe('the URL of a webhook', () => {
  it.each(ALLOWED)('may be %s', (url) => {
    expect(faultOfWebhookUrl(url, PUBLIC_ONLY)).toBeNull()
    expect(faultOfWebhookUrl(url, ANY)).toBeNull()
  })

  it.each(NEVER)('is never %j', (url, fault) => {
    expect(faultOfWebhookUrl(url, PUBLIC_ONLY)).toContain(fault)
    expect(faultOfWebhookUrl(url, ANY)).toContain(fault)
  })

  it.each(PRIVATE)('is %s only where private networks are allowed', (url) => {
    expect(faultOfWebhookUrl(url, PUBLIC_ONLY)).toMatch(/^must /)
    expect(faultOfWebhookUrl(url, ANY)).toBeNull()
  })

  it('has 2048 characters at most', () => {
    expect(faultOfWebhookUrl(`https://example.com/${'a'.repeat(2028)}`, PUBLIC_ONLY)).toBeNull()
  })
})

describe('a public address', () => {
  it.each([
    '',
    'example.com',
    '127.1',
    '08.8.8.8',
    'fe80::1%eth0',
    '2606:4700::1%eth0',
    '[::1]',
    '8.8.8.8:443',
    ' 8.8.8.8',
  ])('is not %j, which is no plain address', (text) => expect(isPublicAddress(text)).toBe(false))

  it('is one that the block list of Node does not hold either', () => {
    const list = new BlockList()
    for (const network of BLOCKED) {
      const [base, bits] = network.split('/') as [string, string]
      list.addSubnet(base, Number(bits), isIP(base) === 4 ? 'ipv4' : 'ipv6')
    }
    const random = seededRandom(7)
    const group = () => Math.floor(random() * 65_536)
    for (let draw = 0; draw < 20_000; draw++) {
      const network = BLOCKED[draw % BLOCKED.length] as string
      const address = draw % 3 === 0 ? anyAddress(group, draw) : near(network, group)
      // The block list of Node 20 gets prefixes of less than 8 bits wrong: 2000::/3 is looked at by its text.
      const isOutside = isIP(address) === 6 && !/^[23][0-9a-f]{3}:/.test(address)
      const isBlocked = isOutside || list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
      expect(`${address} ${isPublicAddress(address)}`).toBe(`${address} ${!isBlocked}`)
    }
  })
})

const BLOCKED = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '168.63.129.16/32', '::/96', '64:ff9b:1::/48', '100::/64', '2001::/23'],
  ...['2001:db8::/32', '2002::/16', '3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
]

function anyAddress(group: () => number, draw: number): string {
  const bytes = () => `${group() >> 8}.${group() & 255}.${group() >> 8}.${group() & 255}`
  if (draw % 2 === 0) return bytes()
  // The first group stays clear of 64:ff9b::/96, which the block list would have to unwrap.
  return Array.from({ length: 8 }, () => (group() | 0x1000).toString(16)).join(':')
}

/** An address in a network or close to it. */
function near(network: string, group: () => number): string {
  const base = network.slice(0, network.indexOf('/'))
  if (base.includes('.')) {
    const parts = base.split('.').map(Number)
    const changed = group() % 4
    return parts.map((part, index) => (index < changed ? part : (part ^ (group() & group() & 255)) & 255)).join('.')
  }
  const [head = ''] = base.split('::')
  const groups = head === '' ? [] : head.split(':').map((text) => Number.parseInt(text, 16))
  const padded = [...groups, ...new Array<number>(8 - groups.length).fill(0)]
  const changed = group() % 8
  return padded.map((part, index) => (index < changed ? part : part ^ (group() & group())).toString(16)).join(':')
}
