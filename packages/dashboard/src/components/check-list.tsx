import { Checkbox, Stack } from '@mantine/core'
import classes from './check-list.module.css'

export interface CheckItem<Name extends string> {
  readonly name: Name
  /** What the name means, in one sentence. */
  readonly sentence: string
  /** Why the item cannot be chosen. Null when it can. */
  readonly refusal?: string | null
}

export interface CheckListProps<Name extends string> {
  readonly groups: readonly { readonly title: string; readonly items: readonly CheckItem<Name>[] }[]
  readonly chosen: ReadonlySet<Name>
  readonly onChange: (chosen: ReadonlySet<Name>) => void
}

/** A list of names to choose from, in groups. */
export function CheckList<Name extends string>({ groups, chosen, onChange }: CheckListProps<Name>) {
  const toggle = (name: Name) => {
    const next = new Set(chosen)
    if (!next.delete(name)) next.add(name)
    onChange(next)
  }
  return (
    <div className={classes.groups}>
      {groups.map(({ title, items }) => (
        <fieldset key={title} className={classes.group}>
          <legend>{title}</legend>
          <Stack gap="xs">
            {items.map(({ name, sentence, refusal = null }) => (
              <Checkbox
                key={name}
                className={classes.item ?? ''}
                label={<span className="mono">{name}</span>}
                description={refusal === null ? sentence : `${sentence} ${refusal}`}
                checked={chosen.has(name)}
                disabled={refusal !== null}
                onChange={() => toggle(name)}
              />
            ))}
          </Stack>
        </fieldset>
      ))}
    </div>
  )
}
