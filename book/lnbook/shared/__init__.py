"""What two pages or more use: experiments, studies, curves, costs of updates, roundings."""
