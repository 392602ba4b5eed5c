import type { LoginProvider } from '../config/login-providers.ts';
import { markOf } from './pages/provider-buttons.ts';
import type { ProviderView } from './pages/view.ts';

export function toProviderView({ id, name, issuer }: LoginProvider): ProviderView {
  return { id, name, mark: markOf(issuer) };
}
