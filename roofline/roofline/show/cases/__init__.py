"""Tables of cases: placed points come in; where each stands, a run, and machines and ranks side by side go out."""
