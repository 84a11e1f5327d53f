import { EVENT_TYPES } from '@countersign/contract'
import { expect, it } from 'vitest'
import { eventGroups } from './event-types'

it('every type can be chosen, once', () => {
  expect(eventGroups().flatMap(({ items }) => items.map(({ name }) => name))).toEqual([...EVENT_TYPES])
})
