topic timer
title Tolerance: set and get
flags linux-bug
slow 2
timer T delay=1000 interval=1000 tolerance=100
tolerance T
settol T 400
tolerance T
--- golden
tolerance T = 0
tolerance T = 0
end
--- right
tolerance T = 100
tolerance T = 400
end
