import type { DecisionStatus, Effect } from '@countersign/contract'
import { Button, Group, Select, TextInput } from '@mantine/core'
import { type FormEvent, useEffect, useState } from 'react'
import type { DecisionFilters } from '../../api/decisions'
import { wordsOf } from '../../components/badges'

/** Complete: one that is missing here does not compile. */
const EFFECTS: Readonly<Record<Effect, true>> = { allow: true, deny: true, review: true, log: true }
const STATUSES: Readonly<Record<DecisionStatus, true>> = {
  authorized: true,
  denied: true,
  awaiting_review: true,
  approved: true,
  declined: true,
  confirmed: true,
  rejected: true,
  expired: true,
}

const TEXTS = [
  ['agent_id', 'Agent', 'agent:support-7'],
  ['action', 'Action', 'payment.refund'],
  ['resource', 'Resource', 'order:8812'],
  ['policy_id', 'Policy', 'pol_…'],
] as const

export interface FilterBarProps {
  readonly filters: DecisionFilters
  readonly onChange: (filters: DecisionFilters) => void
}

/** What is typed, before it counts. */
type Draft = { readonly [Name in keyof DecisionFilters]: string | undefined }

/** What is typed counts when Enter is pressed or the field is left: each letter would be a search of its own. */
export function FilterBar({ filters, onChange }: FilterBarProps) {
  const [draft, setDraft] = useState<Draft>(filters)
  useEffect(() => setDraft(filters), [filters])
  const apply = (next: Draft) => {
    const given = Object.entries(next).map(([name, value]) => [name, value?.trim() ?? ''] as const)
    onChange(Object.fromEntries(given.filter(([, value]) => value !== '')))
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    apply(draft)
  }
  return (
    <form onSubmit={submit} aria-label="Filters">
      <Group gap="xs" align="flex-end">
        <Select
          label="Effect"
          w={120}
          clearable
          clearButtonProps={{ 'aria-label': 'Any effect' }}
          placeholder="any"
          data={Object.keys(EFFECTS)}
          value={filters.effect ?? null}
          onChange={(effect) => apply({ ...draft, effect: effect ?? undefined })}
        />
        <Select
          label="Status"
          w={165}
          clearable
          clearButtonProps={{ 'aria-label': 'Any status' }}
          placeholder="any"
          data={Object.keys(STATUSES).map((value) => ({ value, label: wordsOf(value) }))}
          value={filters.status ?? null}
          onChange={(status) => apply({ ...draft, status: status ?? undefined })}
        />
        {TEXTS.map(([name, label, placeholder]) => (
          <TextInput
            key={name}
            label={label}
            placeholder={placeholder}
            w={140}
            value={draft[name] ?? ''}
            onChange={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
            onBlur={() => (draft[name] ?? '').trim() !== (filters[name] ?? '') && apply(draft)}
          />
        ))}
        <Button type="submit" variant="default">
          Filter
        </Button>
        {Object.keys(filters).length > 0 && (
          <Button variant="subtle" onClick={() => onChange({})}>
            Remove the filters
          </Button>
        )}
      </Group>
    </form>
  )
}
