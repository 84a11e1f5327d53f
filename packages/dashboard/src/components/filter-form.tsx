import { Button, Group, Select, TextInput } from '@mantine/core'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { type Range, TimeRange } from './time-range'

/** Values by the names of the API's parameters. An absent parameter does not filter. */
type Filters<Name extends string> = { readonly [One in Name | keyof Range]?: string }

export interface FilterFormProps<Name extends string> {
  readonly filters: Filters<Name>
  readonly onChange: (filters: Filters<Name>) => void
  /** Fields with a list of options. A choice applies at once. */
  readonly choices: readonly Choice<Name>[]
  /** Text fields. A text applies when the user presses Enter or leaves the field, so that not every letter starts a search. */
  readonly texts: readonly (readonly [name: Name, label: string, placeholder: string])[]
  /** The width of a text field, in pixels. */
  readonly textWidth: number
}

interface Choice<Name extends string> {
  readonly name: Name
  readonly label: string
  readonly width: number
  readonly options: readonly (string | { readonly value: string; readonly label: string })[]
  readonly isSearchable?: boolean
}

/** The filters of a list, above it. */
export function FilterForm<Name extends string>(props: FilterFormProps<Name>) {
  const { filters, onChange, choices, texts, textWidth } = props
  const [draft, setDraft] = useState<Partial<Record<Name | keyof Range, string | null>>>(filters)
  const applied = useRef(filters)
  useEffect(() => {
    const before = applied.current
    applied.current = filters
    // Fields that did not change keep what the user is typing.
    const names = Object.keys({ ...before, ...filters }) as (keyof typeof filters)[]
    const changed = names.filter((name) => before[name] !== filters[name])
    setDraft((now) => ({ ...now, ...Object.fromEntries(changed.map((name) => [name, filters[name] ?? null])) }))
  }, [filters])
  const apply = (next: typeof draft) => {
    const given = Object.entries<string | null | undefined>(next).map(([name, value]) => [name, (value ?? '').trim()])
    onChange(Object.fromEntries(given.filter(([, value]) => value !== '')))
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    apply(draft)
  }
  return (
    <form onSubmit={submit} aria-label="Filters">
      <Group gap="xs" align="flex-end">
        {choices.map(({ name, label, width, options, isSearchable = false }) => (
          <Select
            key={name}
            label={label}
            w={width}
            searchable={isSearchable}
            clearable
            clearButtonProps={{ 'aria-label': `Any ${label.toLowerCase()}` }}
            placeholder="any"
            data={options}
            value={filters[name] ?? null}
            onChange={(value) => apply({ ...draft, [name]: value })}
          />
        ))}
        {texts.map(([name, label, placeholder]) => (
          <TextInput
            key={name}
            label={label}
            placeholder={placeholder}
            w={textWidth}
            value={draft[name] ?? ''}
            onChange={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
            onBlur={() => (draft[name] ?? '').trim() !== (filters[name] ?? '') && apply(draft)}
          />
        ))}
        <TimeRange
          range={filters}
          draft={{ from: draft.from ?? undefined, to: draft.to ?? undefined }}
          onDraft={({ from, to }) => setDraft({ ...draft, from: from ?? null, to: to ?? null })}
          onChange={({ from, to }) => {
            if (from !== filters.from || to !== filters.to) apply({ ...draft, from: from ?? null, to: to ?? null })
          }}
        />
        <Button type="submit" variant="default">
          Filter
        </Button>
        {Object.keys(filters).length > 0 && (
          <Button variant="subtle" onClick={() => onChange({})}>
            Clear filters
          </Button>
        )}
      </Group>
    </form>
  )
}
