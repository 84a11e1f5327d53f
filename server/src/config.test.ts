import { describe, expect, test } from 'vitest'
import { ConfigError, exportOfSpans, readConfig } from './config.js'

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

describe('the settings', () => {
  test('have defaults that need nothing, and take empty for absent', () => {
    const defaults = readConfig({})
    expect(defaults).toMatchObject({ port: 8787, host: '127.0.0.1', issuer: null, rateLimitPerSecond: 1000 })
    expect(readConfig({ PORT: '', HOST: '', ISSUER: '', LOG_LEVEL: '', COUNTERSIGN_BOOTSTRAP_KEY: '' })).toEqual(
      defaults,
    )
  })

  test.each(['127.0.0.1', '127.8.9.10', '::1', 'localhost'])('need no issuer on %s, which is loopback', (HOST) => {
    expect(problemsOf({ HOST })).toEqual([])
  })

  test.each(['0.0.0.0', '::', '10.1.2.3', 'decisions.example', '127.0.0.1.example', '127.1', '0'])(
    'need an issuer on %s',
    (HOST) => {
      expect(problemsOf({ HOST })).toEqual([expect.stringContaining('ISSUER')])
      expect(problemsOf({ HOST, ISSUER: 'https://decisions.example' })).toEqual([])
    },
  )

  test('name a collector by its URL alone, and say which protocol is not spoken', () => {
    const OTEL_EXPORTER_OTLP_ENDPOINT = 'https://collector.example/otlp'
    const protocol = (OTEL_EXPORTER_OTLP_PROTOCOL: string) => ({ OTEL_EXPORTER_OTLP_PROTOCOL })
    expect(problemsOf({ OTEL_EXPORTER_OTLP_ENDPOINT, ...protocol('http/protobuf') })).toEqual([])
    expect(problemsOf({ OTEL_EXPORTER_OTLP_ENDPOINT, ...protocol('grpc') })).toEqual([
      'OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, but is "grpc".',
    ])
    expect(problemsOf(protocol('grpc'))).toEqual([])
    for (const faulty of [
      'collector:4317',
      'https://user:pa55@collector.example',
      'https://collector.example/?key=pa55',
    ]) {
      const [problem, ...others] = problemsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: faulty })
      expect(problem).toMatch(/^OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL/)
      expect([problem, ...others].join()).not.toContain('pa55')
    }
  })

  test('say where spans go, with the meaning that OpenTelemetry gives them', () => {
    const exported = (env: Record<string, string>) => {
      const { url, reason } = exportOfSpans(readConfig(env))
      return url ?? reason
    }
    const OTEL_EXPORTER_OTLP_ENDPOINT = 'https://collector.example/otlp/'
    const OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = 'https://spans.example/as/it/is'
    const both = { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT }
    expect(exported({})).toBe('OTEL_EXPORTER_OTLP_ENDPOINT is not set')
    expect(exported({ OTEL_EXPORTER_OTLP_ENDPOINT })).toBe('https://collector.example/otlp/v1/traces')
    expect(exported({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT })).toBe(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)
    expect(exported(both)).toBe(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)
    expect(exported({ OTEL_TRACES_EXPORTER: 'otlp' })).toBe('http://localhost:4318/v1/traces')
    expect(exported({ ...both, OTEL_TRACES_EXPORTER: 'none' })).toBe('OTEL_TRACES_EXPORTER is none')
    expect(exported({ ...both, OTEL_SDK_DISABLED: 'True' })).toBe('OTEL_SDK_DISABLED is true')
    expect(exported({ ...both, OTEL_SDK_DISABLED: 'false' })).toBe(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)
  })

  test('refuse what the server does not know of these', () => {
    expect(problemsOf({ OTEL_TRACES_EXPORTER: 'otlp,console', OTEL_SDK_DISABLED: '1' })).toEqual([
      'OTEL_SDK_DISABLED must be true or false, but is "1".',
      'OTEL_TRACES_EXPORTER must be otlp or none, but is "otlp,console".',
    ])
    const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://spans.example', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }
    expect(problemsOf(traces)).toEqual(['OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, but is "grpc".'])
    expect(problemsOf({ ...traces, OTEL_SDK_DISABLED: 'true' })).toEqual([])
    // The variable for traces alone comes before the general one.
    expect(problemsOf({ ...traces, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf' })).toEqual([])
    expect(problemsOf({ ...traces, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' })).toEqual([
      'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL must be http/protobuf, but is "http/json".',
    ])
  })

  test.each([
    'mongodb://h',
    'mongodb://h1:1,h2:2/x?replicaSet=r',
    'mongodb://u:p%40ss@h/',
    'mongodb://[::1]:27017/x',
    'mongodb+srv://c.example',
  ])('take %s for a URL of MongoDB', (MONGODB_URL) => {
    expect(problemsOf({ MONGODB_URL })).toEqual([])
  })

  test.each([
    'http://h',
    'mongodb://',
    'mongodb://u:p@ss@h',
    'mongodb://u:p/ss@h',
    'mongodb://u:p%zz@h',
    'mongodb://h:99999',
    'mongodb://h/%zz',
    'mongodb://h/a.b',
    'mongodb://h/a/b',
    `mongodb://h/${'x'.repeat(64)}`,
    'mongodb://h/?ss=1',
    'mongodb://h/?maxPoolSize=ss',
    'mongodb+srv://c.example:27017',
  ])('refuse %s, which MongoDB cannot be reached by, and tell nothing of it', (MONGODB_URL) => {
    const problems = problemsOf({ MONGODB_URL })
    expect(problems).toEqual([expect.stringMatching(/^MONGODB_URL .*\.$/)])
    expect(problems[0]).not.toContain('ss@')
    expect(problems[0]).not.toMatch(/\bss\b|%zz/)
  })

  test.each([
    'decisions',
    'ftp://a.example',
    'https://a.example/?a',
    'https://a.example/?',
    'https://user:secret@a.example',
  ])('refuse the issuer %s', (ISSUER) => {
    const problems = problemsOf({ ISSUER })
    expect(problems).toEqual([expect.stringContaining('ISSUER')])
    expect(problems.join()).not.toContain('secret')
  })

  test('name every problem, each in a sentence', () => {
    expect(problemsOf({ PORT: 'abc', LOG_LEVEL: 'loud', HOST: '0.0.0.0', RETENTION_DAYS: '30' })).toEqual([
      'PORT must be a whole number between 0 and 65535, but is "abc".',
      'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent, but is "loud".',
      'RETENTION_DAYS must be a whole number between 31 and 36500, but is "30".',
      'ISSUER must be set because HOST (0.0.0.0) is not a loopback address: permits name the issuer.',
    ])
  })

  test.each(['-1', '65536', '1.5', '1e3', '0x10', ' 80', '8787 ', 'NaN', '9'.repeat(13)])(
    'refuse the port %j',
    (PORT) => {
      expect(problemsOf({ PORT })).toEqual([expect.stringContaining('PORT')])
    },
  )

  test('refuse a chosen key that is too short, not visible ASCII, or a mistyped key of ours, and never repeat it', () => {
    for (const key of [
      'x'.repeat(31),
      'x'.repeat(257),
      `${'x'.repeat(40)} y`,
      `cs_sk_${'0'.repeat(49)}`,
      'ü'.repeat(40),
    ]) {
      const problems = problemsOf({ COUNTERSIGN_BOOTSTRAP_KEY: key })
      expect(problems).toEqual([expect.stringContaining('COUNTERSIGN_BOOTSTRAP_KEY')])
      expect(problems.join()).not.toContain(key)
    }
    expect(problemsOf({ COUNTERSIGN_BOOTSTRAP_KEY: 'x'.repeat(32) })).toEqual([])
  })
})
