import { DeniedError } from '@countersign/client'
import { describe, expect, test } from 'vitest'
import type { GatedCall } from '../calls/call.js'
import { fromTemplate, type MappedTool, toolMapping } from './json-mapping.js'

const call: GatedCall = { method: 'tools/call', name: 'tool', authInfo: undefined, sessionId: undefined, meta: {} }

/** The members of the question, as the client reads them from the mapping of a tool. */
function questionOf(tool: Partial<MappedTool>, args: unknown): Record<string, unknown> {
  const mapping = Object.entries(Object(toolMapping({ action: 'file.read', resource: null, ...tool })))
  return Object.fromEntries(
    mapping.map(([name, from]) => [name, typeof from === 'function' ? from(Object(args), call) : from]),
  )
}

/** The detail that the caller reads. Undefined if the question is sound. */
function refusalOf(tool: Partial<MappedTool>, args: unknown): string | undefined {
  try {
    questionOf(tool, args)
    return undefined
  } catch (error) {
    if (!DeniedError.isInstance(error)) throw error
    expect(error.reason).toBe('question_refused')
    return error.detail ?? ''
  }
}

const file = { resource: 'file:{path}' }

describe('a template', () => {
  test.each<[Partial<MappedTool>, Record<string, unknown>, Record<string, unknown>]>([
    [{}, {}, { action: 'file.read', resource: null }],
    [file, { path: '/data/a b.txt' }, { resource: 'file:/data/a b.txt' }],
    [file, { path: 'C:\\data\\a.txt' }, { resource: 'file:C:\\data\\a.txt' }],
    [file, { path: '\\\\server\\share' }, { resource: 'file:\\\\server\\share' }],
    [file, { path: '/data/' }, { resource: 'file:/data/' }],
    [file, { path: '/data/１０%.b;c/%C3%A9' }, { resource: 'file:/data/１０%.b;c/%C3%A9' }],
    [file, { path: '/data/..a/b..c/.hidden' }, { resource: 'file:/data/..a/b..c/.hidden' }],
    [
      { resource: 'url:{url}' },
      { url: 'https://a.b/c?next=https://d' },
      { resource: 'url:https://a.b/c?next=https://d' },
    ],
    [{ resource: 'url:{url}' }, { url: 'https://a.b/c?x=d%2Fe' }, { resource: 'url:https://a.b/c?x=d%2Fe' }],
    [{ resource: 'order:{n}' }, { n: 12 }, { resource: 'order:12' }],
    [{ resource: 'flag:{on}' }, { on: false }, { resource: 'flag:false' }],
    [{ resource: 'repo:{owner}/{repo}' }, { owner: 'a', repo: 'b' }, { resource: 'repo:a/b' }],
    [{ resource: 'repo:{at.owner}' }, { at: { owner: 'a' } }, { resource: 'repo:a' }],
    [{ action: 'browser.{verb}' }, { verb: 'open_tab' }, { action: 'browser.open_tab' }],
  ])('%j of %j', (tool, args, question) => {
    expect(questionOf(tool, args)).toMatchObject(question)
  })

  test.each<[Partial<MappedTool>, unknown, string]>([
    [file, {}, '{path}, which is missing'],
    [file, undefined, '{path}, which is missing'],
    [file, { Path: '/a' }, 'is missing'],
    [file, { path: null }, 'is missing'],
    [file, ['/a'], 'is missing'],
    [{ resource: 'x:{constructor}' }, {}, 'is missing'],
    [{ resource: 'x:{path.length}' }, { path: '/a' }, 'is missing'],
    [{ resource: 'x:{paths.0}' }, { paths: ['/a'] }, 'is missing'],
    [file, { path: ['/a'] }, 'is not a string, number or boolean'],
    [file, { path: { toString: '/a' } }, 'is not a string, number or boolean'],
    [{ resource: 'order:{n}' }, { n: Number.NaN }, 'is not a string, number or boolean'],
    [file, { path: '' }, 'is empty'],
    [file, { path: ' \t' }, 'is empty'],
    [file, { path: '/a\0b' }, 'contains characters that are not allowed in the resource'],
    [file, { path: '/a\nb' }, 'contains characters that are not allowed in the resource'],
    [file, { path: '/a\u202eb' }, 'contains characters that are not allowed in the resource'],
    [file, { path: '/a\ud800' }, 'contains characters that are not allowed in the resource'],
    [file, { path: ' /secret' }, 'begins or ends with a space or a quote'],
    [file, { path: '"/data/x' }, 'begins or ends with a space or a quote'],
    [file, { path: "/data/..'" }, 'begins or ends with a space or a quote'],
    [file, { path: '/data\u00a0' }, 'begins or ends with a space or a quote'],
    [file, { path: '/data/../secret' }, '`file:{path}`, which has a path segment that consists only of dots'],
    [file, { path: '..' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/.. /secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/.../secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/./secret' }, 'has a path segment that consists only of dots'],
    [file, { path: 'C:\\data\\..\\secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/%2e%2E/secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/%252e%252e%252fsecret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/..%2fsecret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/..%5csecret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/..;/secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/..;v=1/secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/..%3bv/secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/．．/secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/‥/secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/․․/secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/..∕secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/..／secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/..⁄secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/..＼secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/..∖secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/％2e％2e/secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/%ef%bc%8e%ef%bc%8e/secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/..%00/secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/%e2%80%8b../secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/%%32e%%32e/secret' }, 'has a path segment that consists only of dots'],
    [file, { path: '/data/%c0%ae%c0%ae/secret' }, 'has percent escapes that are not UTF-8, or are nested too deeply'],
    [file, { path: '/data/%25c0%25ae/secret' }, 'has percent escapes that are not UTF-8, or are nested too deeply'],
    [file, { path: '/data/%e0%80%ae/secret' }, 'has percent escapes that are not UTF-8, or are nested too deeply'],
    [
      file,
      { path: '/data/%2525252525252e/secret' },
      'has percent escapes that are not UTF-8, or are nested too deeply',
    ],
    [file, { path: '/data/a%2fb' }, 'has an encoded slash, such as `%2f`'],
    [file, { path: '/data/a%255Cb' }, 'has an encoded slash'],
    [{ resource: 'file:/data/{name}' }, { name: 'a%2fb' }, 'has an encoded slash'],
    [{ resource: 'url:{url}' }, { url: 'https://a.b/c%2fd?x=1' }, 'has an encoded slash'],
    [{ resource: 'order:{n}' }, { n: 'undefined' }, 'has the part `undefined`'],
    [file, { path: '//data' }, 'has an empty path segment, `//`'],
    [file, { path: '/data//secret' }, 'has an empty path segment, `//`'],
    [file, { path: '/data/;v/secret' }, 'has an empty path segment, `//`'],
    [file, { path: 'C://data' }, 'has an empty path segment, `//`'],
    ...[
      'https://a.b/c//d',
      'https://a.b//c',
      'https://a.b/c//',
      'https://a.b/;v/c',
      'https://a.b/c//d?e',
      'file:////c',
    ].map((url): [object, object, string] => [{ resource: 'url:{url}' }, { url }, 'has an empty path segment, `//`']),
    [{ resource: 'file:/data/.{name}' }, { name: './secret' }, 'contains `/`'],
    [{ resource: 'file:/data/{name}' }, { name: 'a/b' }, 'contains `/`'],
    [{ resource: 'repo:{owner}/{repo}' }, { owner: 'a/b', repo: 'c' }, '{owner}, which contains `/`'],
    [{ resource: 'repo:{owner}/{repo}' }, { owner: 'a', repo: 'b/c' }, '{repo}, which contains `/`'],
    [{ resource: 'env:{name}:{key}' }, { name: 'a', key: 'b:c' }, 'contains `:`'],
    [{ action: 'browser.{verb}' }, { verb: 'open.admin' }, 'contains characters that are not allowed in the action'],
    [{ action: 'browser.{verb}' }, { verb: 'öffnen' }, 'contains characters that are not allowed in the action'],
  ])('%j refuses %j', (tool, args, words) => {
    expect(refusalOf(tool, args)).toContain(words)
  })

  test.each([
    ['x:{a}{b}', 'text between {a} and {b}'],
    ['x:{}', 'braces that name no value'],
    ['x:{a b}', 'braces that name no value'],
    ['x:{a', 'braces that name no value'],
    ['x:a}', 'braces that name no value'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the mistake.
    ['x:${a}', 'dollar sign'],
    ['x:{a..b}', 'braces that name no value'],
  ])('%s can name nothing', (resource, words) => {
    expect(() => toolMapping({ action: 'a', resource })).toThrow(words)
  })
})

test('a template is filled by the arguments alone, where nobody tells how they are written', () => {
  const fill = fromTemplate('resource', 'order:{id}')
  if (typeof fill === 'string') expect.fail('it has a placeholder')
  expect(fill({ id: 12 })).toBe('order:12')
  expect(() => fill({ id: '..' })).toThrow('path segment')
})

describe('the context', () => {
  const args = { path: '/a', amount: 3, deep: { b: [1] } }

  test('of all arguments', () => {
    expect(questionOf({ context: 'arguments' }, args)).toMatchObject({ context: args })
  })
  test('of some, where those that are left out are left out', () => {
    expect(questionOf({ context: ['amount', 'unit', 'constructor'] }, args).context).toEqual({ amount: 3 })
  })
  test('of a call without arguments', () => {
    expect(questionOf({ context: 'arguments' }, undefined).context).toEqual({})
  })
  test('of none', () => {
    expect(questionOf({}, args).context).toBeUndefined()
  })
})
