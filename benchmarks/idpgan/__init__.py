"""IDPGAN as the paper measures it: its ablation, Poker hands, parities, composition of steps."""
