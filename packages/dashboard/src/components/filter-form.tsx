import { Button, Group, Select, TextInput } from '@mantine/core'
import { type FormEvent, useEffect, useState } from 'react'

/** By the names of the API's parameters: those that are not there do not filter. */
type Filters<Name extends string> = { readonly [One in Name]?: string }

export interface FilterFormProps<Name extends string> {
  readonly filters: Filters<Name>
  readonly onChange: (filters: Filters<Name>) => void
  /** What is chosen from a list. It counts at once. */
  readonly choices: readonly Choice<Name>[]
  /** What is typed. It counts when Enter is pressed or the field is left: each letter would be a search of its own. */
  readonly texts: readonly (readonly [name: Name, label: string, placeholder: string])[]
  /** Of a text, in pixels. */
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
  const [draft, setDraft] = useState<Partial<Record<Name, string | null>>>(filters)
  useEffect(() => setDraft(filters), [filters])
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
