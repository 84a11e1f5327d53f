/** The name, agents, priority, mode and state of a policy. */
import { NativeSelect, Switch, TagsInput, TextInput } from '@mantine/core'
import { setMember } from './edit-text'
import classes from './form.module.css'
import { type FormProps, textOf } from './members'
import { NumberField } from './number-field'

const QUIET = { className: 'quiet' }

export function BasicsForm({ policy, edit, isReadOnly }: FormProps) {
  const { name, agents = [], priority, mode, enabled } = policy
  const set = (key: string, value: unknown) => edit((text) => setMember(text, [], key, value))
  return (
    <div className={classes.basics}>
      <TextInput
        label="Name"
        disabled={isReadOnly}
        value={textOf(name)}
        onChange={(event) => set('name', event.currentTarget.value)}
      />
      <TagsInput
        label="Agents"
        description="Ids or patterns; * matches any characters. Leave empty for every agent."
        descriptionProps={QUIET}
        disabled={isReadOnly || !Array.isArray(agents)}
        value={Array.isArray(agents) ? agents.map(textOf) : []}
        onChange={(value) => set('agents', value.length === 0 ? undefined : value)}
        clearable
        clearButtonProps={{ 'aria-label': 'Every agent' }}
      />
      <div className={classes.fields}>
        <NumberField
          label="Priority"
          description="The highest priority decides."
          placeholder="0"
          descriptionProps={QUIET}
          disabled={isReadOnly}
          value={priority}
          onChange={(value) => set('priority', value)}
        />
        <NativeSelect
          label="Mode"
          description="Shadow policies are recorded but never enforced."
          descriptionProps={QUIET}
          disabled={isReadOnly}
          data={['enforce', 'shadow']}
          value={mode === 'shadow' ? 'shadow' : 'enforce'}
          onChange={(event) => set('mode', event.currentTarget.value)}
        />
      </div>
      <Switch
        label="Enabled"
        disabled={isReadOnly}
        checked={enabled !== false}
        onChange={(event) => set('enabled', event.currentTarget.checked)}
      />
    </div>
  )
}
