import { EVENTS, eventSchema, WEBHOOK_TYPES } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { EVENT_EXAMPLES } from './event-examples.mjs'
import { readText } from './repository-files.js'

it('there is an example of every type of event, in the order of the catalogue', () => {
  expect(Object.keys(EVENT_EXAMPLES)).toEqual([...WEBHOOK_TYPES])
  expect(Object.keys(EVENTS)).toEqual([...WEBHOOK_TYPES])
})

describe.each([...WEBHOOK_TYPES])('the example of %s', (type) => {
  const body = { type, ...EVENT_EXAMPLES[type] }

  it('has the form of its type', () => {
    expect(eventSchema(type, EVENTS[type].data).safeParse(body)).toMatchObject({ success: true })
  })

  it('holds no permit, context or secret', () => {
    expect(JSON.stringify(body)).not.toMatch(/permit_token|eyJ|"context":|whsec_|cs_sk_[0-9A-Za-z]/)
  })

  it('is on the page', () => {
    const [, shown = ''] = readText('docs/reference/events.md').split(`## ${type}\n`)
    const [, json = ''] = /```json\n([\s\S]*?)```/.exec(shown) ?? []
    expect(JSON.parse(json)).toEqual(body)
  })
})
