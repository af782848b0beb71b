topic timer
title Tolerance of a repeating timer is limited to half the interval, a negative one is zero
flags linux-bug
slow 2
timer T delay=1000 interval=100
timer U delay=1000
settol T 90
tolerance T
settol U 90
tolerance U
settol U -5
tolerance U
--- golden
tolerance T = 0
tolerance U = 0
tolerance U = 0
end
--- right
tolerance T = 50
tolerance U = 90
tolerance U = 0
end
